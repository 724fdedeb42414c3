"""The page of pretraining experiments: the papers' ablations, small enough to repeat.

html.py    the HTML of the page
page.py    the page: experiments, their runs, the papers' figures
wiring.py  every event of the page and what happens then
"""
