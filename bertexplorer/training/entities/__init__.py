"""Named entities: tags, rows, a CRF over tags, and scores.

tags.py    tags as entities and back, in every scheme; legal transitions
rows.py    rows with tags or spans -> words with IOB2 tags
crf.py     linear-chain CRF: log Z, best path, marginals
scores.py  entity F1 by several rules, per type; confusion word by word
"""
