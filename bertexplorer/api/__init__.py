"""The HTTP API, which the page uses too.

admission.py  the work of one request: a place in line, and dropped once its client has left
view.py       the Explore page's route: a state of the page in, its answer out
"""
