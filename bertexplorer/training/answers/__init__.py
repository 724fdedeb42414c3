"""Answers: the rows that hold them, windows over long passages, spans out of logits, and what counts as right.

rows.py     questions whose answers stand where they are said to, or are found again
windows.py  a question with as much of a passage as fits, again and again
spans.py    the best spans of a window, of all windows
scores.py   exact match and F1 by SQuAD's rules, thresholds for no answer
"""
