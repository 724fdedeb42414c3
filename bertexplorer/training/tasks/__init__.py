"""The fine-tuning tasks, each a module with the interface of training/task.Task.

classification.py       one label for a text, or several
pair_classification.py  one label for two texts
tagging.py              a tag for each word, each alone or all together by a CRF
question_answering.py   where in a passage an answer starts and ends, or that there is none
similarity.py           the similarity of two texts, as the cosine of their vectors
retrieval.py            finding passages by the cosine of their vectors to the query's
reranking.py            ranking passages, each read together with the query
summary.py              the sentences of a document that make its summary
adaptation.py           masked language modelling on one's own texts
next_word.py            left-to-right language modelling; continuing a text
sequence.py             generating a target from a source
distillation.py         a smaller student learns a classifier's answers
"""

from bertexplorer.training.task import Task
from bertexplorer.training.tasks import (
    adaptation,
    classification,
    distillation,
    next_word,
    pair_classification,
    question_answering,
    reranking,
    retrieval,
    sequence,
    similarity,
    summary,
    tagging,
)

TASKS: tuple[Task, ...] = (
    classification,
    pair_classification,
    tagging,
    question_answering,
    similarity,
    retrieval,
    reranking,
    summary,
    adaptation,
    next_word,
    sequence,
    distillation,
)
BY_NAME: dict[str, Task] = {module.__name__.rpartition(".")[2].replace("_", "-"): module for module in TASKS}
