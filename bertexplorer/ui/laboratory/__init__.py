"""The pretraining laboratory: the papers' ablations, started and watched on a page of their own.

desk.py    an experiment started and watched, without gradio
pieces.py  the HTML of the laboratory
page.py    the laboratory: experiments, their runs, the papers' figures
wiring.py  every event of the laboratory and what happens then
"""
