"""The pages in a browser.

static/            the scripts and styles: a web component for each page and for the parts that pages share"""
