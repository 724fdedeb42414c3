"""Entities: their tags, the rows that hold them, a CRF over tags, and what counts as found.

tags.py    tags as entities and back, in every scheme; what may follow what
rows.py    rows with tags or with spans -> words with IOB2 tags
crf.py     scores for which tag follows which: log Z, best path, marginals
scores.py  entity F1 by several rules, per type; confusion word by word
"""
