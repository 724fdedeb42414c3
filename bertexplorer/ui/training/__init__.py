"""The page on which a checkpoint learns.

page.py      the training page: what to learn and from what, the runs, one watched and tried
wiring.py    every event of it and its handler
starting.py  what happens before a run: rows looked at, Start
watching.py  what happens after: one run watched, tried, compared, taken along
beside.py    seeds of one run, runs of one task beside each other
export.py    what a run made as ZIP, as ONNX, on the hub
desk.py      rows looked at, runs started and read; knows no gradio
pieces.py    its HTML
"""
