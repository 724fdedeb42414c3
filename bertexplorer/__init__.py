"""BERT Explorer: see what BERT-style models have learned.

>>> import bertexplorer as bx
>>> bx.fill_mask("Paris is the [MASK] of France.", top=1).rows[0]["token"]
'capital'

Every analysis is a function here and a method of a loaded checkpoint: `bx.load("mini").attention(text, pick="it")`.
A result has rows, a sentence, a figure, CSV, JSON and the Python that repeats it. Names are imported at first use.

The map of the code, layer by layer; each layer imports only from those above it. The page *Modules* of the
documentation lists every module.

errors.py               the error for people, and the message for unexpected ones
options.py              a setting declared once -> a form on the page, a flag, a field in a file
wording.py              numbers in sentences
csv_safety.py           escapes text so that spreadsheets do not run it as a formula
locks.py                whether a process uses a file; the system releases the lock when the process ends
version.py              the version, in one place
settings.py             folders, host, port and limits, read once from the environment

charts/                 what figures are: marks, their style, and the parts of charts that views still draw themselves
charts/adaptors/        marks as a chart of plotly, a module for each kind
model/                  the encoder (start reading at encoder.py), heads, tokenizer, checkpoints read and written
model/families/         how the families of checkpoints differ: a table of names and a config for each
engine/                 how a pass is run: precision, cache, the texts of many callers computed together
answers/                what a checkpoint says of a text: its answers, and the words and heads that views ask about
answers/kinds/          the kinds of answers of fine-tuned heads: how each is read, tabled, drawn and said
training/               how a checkpoint learns, without the page: the loop, its optimiser, commits that survive a crash
training/data/          reads a file as rows, reports problems line by line, splits rows into train and dev
training/tasks/         the fine-tuning tasks: the rows, settings and metrics of each
training/learners/      what each task adds to the encoder: head, batches, losses, metrics, answers
training/finetuning/    rows -> a task's learner -> a run in a folder
training/pretraining/   plain text -> examples drawn on the fly -> masked words, next sentences and their rivals
diagnosis/              a doctor for encoders: whose vectors are these?
teaching/               a classifier from a handful of sentences: a head on their vectors
store/                  checkpoints, the hub, uploads and the search index on disk
views/                  the views, a folder each: it computes a frozen result, draws it and says it in a sentence
analysis.py             the analyses by the name that they had in version 0.1
core/                   what is asked and answered, whoever asks: a state, its link, its answer, comparisons, exports
runs/                   all of a run: its folder, its process, the queue, its report, what is made of it
learn/                  lessons: questions about live views, their answers computed from the checkpoint in use
classroom/              a class that votes on its phones, and lectures
python/                 the package in Python: a checkpoint with every analysis as a method, results, lessons, runs
api/                    the HTTP API, which the page uses too, and the same for MCP clients
web/                    the pages in a browser, whose scripts speak to the API, and the endpoints for gradio's clients
site/                   the explorer as files: the checkpoint runs in the visitor's browser
cluster/                answers and runs in other processes: workers on this machine, or actors on a Ray cluster
server/                 the page inside layers, each with one task
cli/                    every analysis as a command, its Options as flags; checkpoints; training runs
blocks/                 a token strip, a view and the explorer as components for anybody's Gradio app
gradio_app.py           a plain Gradio app over the package, to be read and copied
__main__.py             python -m bertexplorer
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # `as` says that a name is public
    from bertexplorer.cli.serve import serve as serve
    from bertexplorer.errors import ExplorerError as ExplorerError
    from bertexplorer.gradio_app import app as app
    from bertexplorer.python.bert import (
        Bert as Bert,
        checkpoints as checkpoints,
        from_transformers as from_transformers,
        load as load,
    )
    from bertexplorer.python.checkups import doctor as doctor, doctor_states as doctor_states
    from bertexplorer.python.lessons import Lesson as Lesson, lesson as lesson
    from bertexplorer.python.result import Comparison as Comparison, Result as Result, compare as compare
    from bertexplorer.python.signatures import *
    from bertexplorer.python.teaching import teach as teach
    from bertexplorer.python.training_runs import (
        SuiteRun as SuiteRun,
        TrainingRun as TrainingRun,
        pretrain as pretrain,
        train as train,
    )
    from bertexplorer.version import __version__ as __version__
    from bertexplorer.web.notebook import widget as widget

MODULES = {  # name -> its module
    "Bert": "python.bert",
    "Comparison": "python.result",
    "Lesson": "python.lessons",
    "ExplorerError": "errors",
    "Result": "python.result",
    "SuiteRun": "python.training_runs",
    "TrainingRun": "python.training_runs",
    "app": "gradio_app",
    "checkpoints": "python.bert",
    "compare": "python.result",
    "doctor": "python.checkups",
    "doctor_states": "python.checkups",
    "from_transformers": "python.bert",
    "lesson": "python.lessons",
    "load": "python.bert",
    "pretrain": "python.training_runs",
    "serve": "cli.serve",
    "teach": "python.teaching",
    "train": "python.training_runs",
    "widget": "web.notebook",
}


def __getattr__(name: str) -> Any:
    """Import a public name at first use."""
    if name == "__all__":
        return __dir__()
    if name in MODULES:
        value = getattr(import_module(f"bertexplorer.{MODULES[name]}"), name)
    elif name == "__version__":
        value = import_module("bertexplorer.version").__version__
    elif import_module("bertexplorer.views").VIEWS.find(name):
        value = import_module("bertexplorer.python.bert").function(name)
    else:
        raise AttributeError(f"bertexplorer has no {name!r}. It has {', '.join(our_names())}.")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    views = import_module("bertexplorer.views").VIEWS
    return sorted([*our_names(), *(view.name for view in views.brought)])


def our_names() -> list[str]:
    """The public names, without the views that other packages bring."""
    return sorted([*MODULES, *import_module("bertexplorer.views").VIEWS.folders, "__version__"])
