"""The HTTP API, which the page uses too.

static/         that page, its script and its style"""
