"""Training data: a file as rows, what is wrong with them line by line, and their division into train and dev.

read.py       an uploaded file -> a table, or a sentence that says what is wrong
rows.py       rows, problems with their line, columns under a task's names
decode.py     bytes -> text, and in which encoding they were
delimited.py  CSV and TSV, strictly: a row of another width is named, never shifted
jsonl.py      an object a line, or the list of one JSON file
hub.py        a data set of the hub by its name
qrels.py      queries, passages and judgements in three files
squad.py      questions on passages, with answers and where they start
conll.py      a token and its tag a line, a blank line between sentences
guess.py      which column is which that a task wants, by name, else by content
checks.py     labels, repetitions and empty cells, seen before a run
split.py      rows to learn from and to try on, no text on both sides
"""
