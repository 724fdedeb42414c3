"""The server: the page inside layers, each of which enforces or reports one thing.

launch.py          the application on its port, until a signal ends it
connections.py     how long and how many connections may wait for the head of a request
application.py     the page, and around it the layers that a request passes
request_log.py     each request with an id, counted, timed and written down
headers.py         what a browser is told of every answer
request_filter.py  which requests are answered at all: name, origin, route
health.py          /healthz, /readyz and /metrics
sessions.py        each browser known again by a signed cookie, its pages kept from others
queue_limit.py     so many events of gradio's pages wait; a stream without answers ends
access_code.py     a class code, asked for once
body.py            how much may come in and how long it may take; JSON made fit to be answered
compression.py     what a browser loads, compressed; scripts once for all
files.py           each browser has the files that it uploaded or that were made for it
cookie_signing.py  what signs cookies, with a secret of the data folder
asgi.py            headers and cookies read, a sentence sent
metrics.py         the numbers of the server, for Prometheus
logs.py            one line of JSON for each thing worth noting
theme.py           the theme of the page and the contents of its head
"""
