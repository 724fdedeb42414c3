"""Everything on disk: checkpoints (found, downloaded, loaded once), runs, uploads and the search index.

catalogue.py           the checkpoints that the picker offers, and what is known of each
hub.py                 downloads a checkpoint by name, or explains quickly why it cannot
registry.py            finds checkpoints by name, loads each once, shares it, drops it when memory is short
memory.py              whether a checkpoint fits into memory, checked before it is read
apart.py               calls a function in a separate process with limits on time and memory
pickled_weights.py     reads pytorch_model.bin without running what it says
convert.py             converts such a file to safetensors in a separate process, once
examine.py             opens a checkpoint from outside in a separate process first
training_snapshots.py  the snapshots of the training that ships with the app
runs.py                runs as their folders show them: state, events as they grow, checkpoints
job_db.py              the table of jobs in SQLite, for one server at a time
trash.py               deleted runs, which are moved aside and deleted for good after a week
jobs.py                accepts, queues, renames, resumes and deletes runs
supervisor.py          starts queued runs as processes, adopts running ones, reports how they ended
uploads.py             files that a page sent or that were made for it, with their owners, for a day
text_uploads.py        the lines of an uploaded CSV, TSV or TXT, stored under a hash of its content
syneval.py             the pickles of LM_syneval, read as data
suite_folder.py        a suite of any size in a folder, which can be stopped and resumed
quota.py               how much of the disk one owner's uploads and runs may take
index.py               vectors of uploaded lines, stored in files and searched exactly
library.py             the registry under its old name, for programs that version 0.1 exported
lines.py               text uploads under their old name, for the same programs
"""
