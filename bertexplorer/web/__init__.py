"""The pages in a browser.

gradio_patches.py  all patches of gradio, and what each patch relies on
page.py            the pages: a frame of gradio, into which the scripts in static/ draw each page
static/            the scripts and styles: a web component for each page and for the parts that pages share
"""
