"""The page on which a checkpoint learns.

page.py            the training page: what to learn and from what, the runs, one watched and tried
wiring.py          every event of it and its handler
setup_handlers.py  what happens before a run: rows looked at, Start
run_handlers.py    what happens after: watch, try, compare and export one run
comparison.py      seeds of one run, runs of one task beside each other
export.py          what a run made as ZIP, as ONNX, on the hub
run_service.py     rows looked at, runs started and read; knows no gradio
html.py            its HTML
"""
