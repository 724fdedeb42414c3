"""The training page.

page.py            its components: the settings of a new run, the list of runs, one run in detail
wiring.py          its events and their handlers
setup_handlers.py  handlers before a run: preview, Start
run_handlers.py    handlers of runs: watch, try, compare and export
comparison.py      the seeds of a run; two runs compared
influence.py       the training rows behind an answer, and those whose labels look wrong
run_list.py        the list of runs, also that of the page of experiments
html.py            its HTML
"""
