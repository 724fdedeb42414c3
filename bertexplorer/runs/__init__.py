"""Runs for others: started, watched and kept for the people of a server. No page, no HTTP.

prepare.py      what a run would learn from, read once before it starts
service.py      start, watch and read runs
report.py       what the page shows of a run, as plain data
trace.py        training rows behind an answer, and suspicious ones
experiments.py  pretraining experiments, each several runs, started and watched
suite.py        a suite as a run in a separate process
export.py       export of a run as ZIP, as ONNX, to the hub
"""
