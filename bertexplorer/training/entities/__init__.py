"""Named entities: tags, rows and scores.

tags.py    tags as entities and back, in every scheme; rows with tags or spans -> words with IOB2 tags
scores.py  entity F1 by several rules, per type; confusion word by word
"""
