"""Pretraining: plain text -> examples drawn on the fly -> masked words, next sentences and their rivals.

command.py      begin, resume or lengthen a run; a signal ends it after a commit
run.py          a run is a folder: begun, gone on with, finished, told as events
spec.py         every setting of a run, as spec.json holds it
start.py        what a run trains: made, written into its commits, read again
sentences.py    plain text -> documents -> paragraphs -> sentences
corpus.py       text files -> token ids on the disk, mapped into memory
vocabulary.py   a WordPiece vocabulary trained on the text
examples.py     examples drawn on the fly, the same for the same seed and step
batches.py      examples -> padded tensors
objectives.py   masked words, the next sentence, the next word, the replaced token
heldout.py      documents never trained on, and the same masks over them always
measure.py      the held-out measure for any checkpoint
probe.py        how much a linear classifier reads off a frozen encoder
experiments.py  the papers' ablations in minutes, with what was published
manuals.py      English that is on every machine: the manuals of the installed packages
"""
