"""Runs for others: started, watched and kept for the people of a server. No page, no HTTP.

service.py      preview, start, watch and read runs
experiments.py  pretraining experiments, each several runs, started and watched
suite.py        a suite as a run in a separate process
export.py       export of a run as ZIP, as ONNX, to the hub
"""
