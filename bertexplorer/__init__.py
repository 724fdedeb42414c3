"""BERT Explorer: see what BERT-style models have learned.

>>> import bertexplorer as bx
>>> bx.fill_mask("Paris is the [MASK] of France.", top=1).rows[0]["token"]
'city'

Every analysis is a function here and a method of a loaded checkpoint: `bx.load("mini").attention(text, pick="it")`.
A result knows its rows, a sentence, a figure, CSV, JSON and the Python that repeats it. Names are imported when used.

The map of the code, floor by floor; each floor imports only from those above it. A folder's own `__init__.py` lists its
modules.

errors.py               the one error that a person is meant to read, and what is said of all others
options.py              a setting declared once -> a form on the page, a flag, a field in a file
csv_safety.py           a text as a spreadsheet may be given it: shown, never run
locks.py                which process is at a file; the system lets go when it dies
version.py              the version, in one place
settings.py             folders, host, port and limits, read once from the environment

model/                  the encoder (start reading at encoder.py), heads, tokenizer, checkpoints read and written
model/families/         what each family of checkpoints differs in: a table of names and a config each
engine/                 how a pass is run: precision, cache, the texts of many callers computed together
analysis/               (Checkpoint, text, Options) -> a frozen result, numpy on the CPU; nothing drawn, nothing stored
training/               how a checkpoint learns, without a page: the loop, its optimiser, commits that survive a crash
training/data/          a file as rows, what is wrong with them line by line, their division into train and dev
training/tasks/         what each fine-tuning task is: its rows, its settings, its numbers
training/learners/      what each task adds to the encoder: head, batches, losses, metrics, answers
training/entities/      tags and entities, a CRF over them, and what counts as found
training/answers/       questions over long passages: windows, spans, and what counts as right
training/finetuning/    rows -> a task's learner -> a run in a folder
training/pretraining/   plain text -> examples drawn on the fly -> masked words, next sentences and their rivals
figures/                a result drawn, and said in a sentence
store/                  what lives on disk: checkpoints, runs, uploads, the search index
ui/                     the page: one text on a workbench, many views of it below
ui/tabs/                the views: each an analysis, its figure, a question and examples
ui/training/            the page on which a checkpoint learns
ui/experiments/         the page that repeats the papers' pretraining experiments
learn/                  lessons: questions about live views, their answers computed from the checkpoint in use
result.py               what an analysis found: rows, a sentence, a figure
bert.py                 a checkpoint in Python, with every analysis as a method
lessons.py              lessons in Python
runs.py                 fine-tuning and pretraining in Python
api/                    the HTTP API, which the page uses too, and the same for MCP clients
server/                 the page behind layers that each keep one thing out, or let one thing be seen
cli/                    every analysis as a command, its Options as flags; checkpoints; runs that learn
__main__.py             python -m bertexplorer
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bertexplorer.bert import Bert, checkpoints, from_transformers, load
    from bertexplorer.cli.serve import serve
    from bertexplorer.errors import ExplorerError
    from bertexplorer.lessons import Lesson, lesson
    from bertexplorer.result import Comparison, Result, compare
    from bertexplorer.runs import TrainingRun, pretrain, train
    from bertexplorer.signatures import *
    from bertexplorer.version import __version__

HOMES = {  # name -> the module that it comes from
    "Bert": "bert",
    "Comparison": "result",
    "Lesson": "lessons",
    "ExplorerError": "errors",
    "Result": "result",
    "TrainingRun": "runs",
    "checkpoints": "bert",
    "compare": "result",
    "from_transformers": "bert",
    "lesson": "lessons",
    "load": "bert",
    "pretrain": "runs",
    "serve": "cli.serve",
    "train": "runs",
}


def __getattr__(name: str) -> Any:
    """A public name, imported at first use."""
    if name == "__all__":
        return __dir__()
    if name in HOMES:
        found = getattr(import_module(f"bertexplorer.{HOMES[name]}"), name)
    elif name == "__version__":
        found = import_module("bertexplorer.version").__version__
    elif name in import_module("bertexplorer.analysis").NAMES:
        found = import_module("bertexplorer.bert").function(name)
    else:
        raise AttributeError(f"bertexplorer has no {name!r}. It has {', '.join(__dir__())}.")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*HOMES, *import_module("bertexplorer.analysis").NAMES, "__version__"])
