"""Charts as data: plotly's JSON as plain dicts, without plotly.

chart.py    a chart: its traces and its layout, panels in a grid, and plotly's Figure on request
picture.py  a figure that a script of the page draws
"""
