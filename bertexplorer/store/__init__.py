"""Everything on disk: checkpoints, runs, uploads and the search index.

catalogue.py           the checkpoints that the picker offers, and the snapshots of the training that ships
hub_cache.py           finds the checkpoints that are on this disk already
hub.py                 downloads a checkpoint by name, or fails quickly with a clear error
sentence_files.py      which files belong to the sentence encoder of a checkpoint
registry.py            finds checkpoints by name, loads each once, shares it, evicts it when memory is short
sandbox.py             calls a function in a separate process with limits on time and memory
pickled_weights.py     reads pytorch_model.bin without running code from it
convert.py             converts such a file to safetensors in a separate process
opening_turns.py       checkpoints from outside are opened one at a time of each owner and two in all
examine.py             opens a checkpoint from outside in a separate process first; whether it fits into memory
runs.py                runs as their folders show them: state, events, checkpoints
job_db.py              the table of jobs in SQLite, for one server at a time; deleted runs, for a week
jobs.py                accepts, queues, renames, resumes and deletes runs
supervisor.py          starts queued runs as processes, adopts running ones, records how they ended
uploads.py             files that a page sent and exports for it, for a day; what one owner may take of the disk
parsing.py             reads large uploads in a separate process, two at a time
text_uploads.py        uploaded lines and suites, stored under a hash of owner and content
syneval.py             reads the pickles of LM_syneval as data
suite_folder.py        a suite of any size in a folder, stopped and resumed, read back and compared with another
index.py               vectors of uploaded lines, stored in files and searched exactly
library.py             the old name of the registry, for programs that version 0.1 exported
lines.py               the old name of text uploads, for the same programs
"""
