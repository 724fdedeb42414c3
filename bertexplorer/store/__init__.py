"""What lives on disk: checkpoints, found, downloaded and loaded once.

catalogue.py           the checkpoints that the picker offers, and what is known of each
hub.py                 a checkpoint fetched by name, or a quick and plain answer why not
registry.py            a checkpoint by name: found, loaded once, shared, dropped when memory is short
memory.py              whether a checkpoint fits before it is read
apart.py               a function in a process of its own, with limits on time and memory
examine.py             a checkpoint from outside, opened in a process of its own first
training_snapshots.py  the training that ships with the app, step by step
runs.py                runs as their folders show them: state, events as they grow, checkpoints
job_db.py              the rows of the jobs in SQLite, for one server at a time
trash.py               deleted runs, moved aside and kept for a week
jobs.py                runs accepted for good, in line, renamed, resumed, deleted
supervisor.py          starts queued runs as processes, takes over those that live, tells how they died
uploads.py             files that a page sent or that were made for it, for a day, and whose they are
text_uploads.py        an uploaded CSV, TSV or TXT as lines, kept under a hash of its content
quota.py               how much of the disk one owner's uploads and runs may take
index.py               vectors of uploaded lines, in files, searched exactly
library.py             the registry under its old name, for programs that version 0.1 exported
lines.py               the uploads of texts under their old name, for the same programs
"""
