"""Pretraining: plain text -> examples drawn on the fly -> masked tokens, next sentences and their rivals.

command.py      command line: start, resume or extend a run; a signal ends it after a commit
run.py          compute a run: start, resume, evaluate, finish
spec.py         all settings of a run, as in spec.json
start.py        the checkpoint and objective of a run, from scratch or from a commit
sentences.py    plain text -> documents -> paragraphs -> sentences
corpus.py       text files -> a WordPiece vocabulary; token ids on disk, memory-mapped
pool.py         the documents to draw from; segments, drawn as arrays
examples.py     examples drawn on the fly, reproducible from seed and step
batches.py      examples -> padded tensors
objectives.py   masked tokens, next sentence, next token, replaced tokens
heldout.py      evaluation on held-out documents with fixed masks
measure.py      the same evaluation for any checkpoint
probe.py        a linear classifier on a frozen encoder
experiments.py  the papers' ablations in minutes, with the published results
"""
