"""Training data: files as rows, problems line by line, and the split into training and validation rows.

read.py       an uploaded file -> a table; CoNLL and plain text
rows.py       rows, tables, problems; cells as text, numbers and examples
decode.py     bytes -> text and its encoding
delimited.py  CSV and TSV, strictly: a row of the wrong width is a problem
jsonl.py      JSON Lines, and JSON files: a list, or SQuAD's questions about passages
hub.py        a data set of the Hugging Face Hub
qrels.py      test collections: queries, documents and judgements
guess.py      which column a task needs is which, by name or by content
checks.py     warnings about labels, duplicates and empty cells; training and validation rows, without a text in both
"""
