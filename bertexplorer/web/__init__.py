"""The pages in a browser.

static/            scripts and styles: the frame, a web component for each page and for the parts that pages share"""
