"""Fine-tuning: rows -> a task's learner -> a run in a folder.

run.py            a run is a folder: begun, gone on with, finished, told as events
spec.py           every setting of a run, as spec.json holds it
preflight.py      the rows as understood, what is wrong with them, before a run begins
command.py        begin a run from a file, or go on with one
trainable.py      all weights, the head alone, the last layers, or small matrices
lora.py           small matrices beside queries and values
batch_sampler.py  the order of the rows, the same for the same seed and epoch
diagnostics.py    what goes wrong while it learns, in words
dry_run.py        a few real steps, timed, before a run begins
compare.py        runs beside each other: several seeds, two of them row by row
artifacts.py      the best checkpoint with its task and card; snapshots along the way
card.py           the model card, with rows as examples only where a person wants them
"""
