"""BERT Explorer: see how BERT works. The map of the code, floor by floor; each floor imports only from those above it.
The modules of a folder stand in its own `__init__.py`.

errors.py               the one error that a person is meant to read, and what is said of all others
knobs.py                a setting declared once -> a form on the page, a flag, a field in a file
cells.py                a text as a spreadsheet may be given it: shown, never run
locks.py                which process is at a file; the system lets go when it dies
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
ui/laboratory/          the page that repeats the papers' pretraining experiments
api/                    the HTTP API, which the page uses too, and the same for MCP clients
server/                 the page behind layers that each keep one thing out, or let one thing be seen
cli/                    every analysis as a command, its Options as flags; checkpoints; runs that learn
__main__.py             python -m bertexplorer
"""
