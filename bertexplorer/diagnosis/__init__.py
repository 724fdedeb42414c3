"""A doctor for encoders: whose vectors are these, and where does a BERT go wrong?

A text becomes a vector in steps that nothing reports: a prompt before it, a length at which it is cut, a layer, a
pooling, dense layers. A search over such recipes finds the one that gives the vectors of another program.

recipe.py      a recipe, in words, and what differs from the one in a checkpoint's files
readings.py    the ways of reading a text that are tried, those nearest to the files' first
states.py      the hidden states of texts that are read in one of these ways, in a chosen precision
pooling.py     every pooling of these states that is tried
given.py       the vectors of the other program: checked, how they were rounded, which texts are used
files.py       vectors and texts in files
server.py      vectors from a server that a person names
scaling.py     how they were scaled, as their lengths tell
search.py      the search, its confirmation on other texts, and the decision
answer.py      the answer, in sentences and rows
texts.py       ten texts that tell recipes apart
canary.py      texts, vectors and their recipe in a file, to be checked later

The states of a BERT that someone wrote are compared part by part, each computed from what theirs has before it.

names.py       the names of its parts in other programs
guess.py       … and by their weights or values, where a name is not known
walk.py        the walk through the parts, and what explains a part that differs
module.py      states of a module or a file, and the answer

A search misses what answers a query.

collection.py  queries, passages, and who answers whom
misses.py      why a passage was not found: causes, each checked by undoing it

A classifier goes wrong in use.

slices.py      kinds of rows that are wrong more often than the others
calibration.py whether its probabilities can be believed, and what a temperature gains
doubtful.py    labels that the model and the nearest rows contradict
"""
