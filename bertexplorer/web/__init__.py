"""The pages in a browser, and the endpoints for gradio's clients.

page.py, mount.py     the four pages: one frame of HTML, at their addresses
static/               scripts and styles: a web component for each page and for the parts that pages share
static/site/          scripts that take the place of a server on a site
endpoints.py          a gradio app that lists an endpoint for each analysis
calls.py, callers.py  the layer around gradio that answers them, and what it keeps and computes for each caller
widget.py             the views in a notebook"""
