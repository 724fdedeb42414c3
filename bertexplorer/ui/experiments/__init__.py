"""Pretraining experiments: the papers' ablations, started and watched on a page of their own.

experiment_service.py  an experiment started and watched, without gradio
html.py                the HTML of the page
page.py                the page: experiments, their runs, the papers' figures
wiring.py              every event of the page and what happens then
"""
