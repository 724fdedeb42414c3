"""Question answering: rows with answers, windows over long passages, spans from logits, and scores.

rows.py     rows -> questions whose answers are located in their passage
windows.py  overlapping windows of a question and a part of its passage; the best spans of all windows
scores.py   exact match and F1 by SQuAD's rules, thresholds for no answer
"""
