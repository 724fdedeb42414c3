"""Teaching: a classifier from a handful of sentences in boxes.

head.py        a linear head on sentence vectors
taught.py      boxes -> a classifier, saved, opened, and used as a checkpoint
evaluation.py  how good it is on sentences that were left out
words.py       words that are counted, and that are hidden
"""
