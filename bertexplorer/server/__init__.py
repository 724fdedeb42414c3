"""The server: the page inside layers, each of which enforces or reports one thing.

launch.py          the application on its port, until a signal ends it
connections.py     how many connections may wait for the head of a request, and for how long
application.py     the page, and around it the layers that a request passes
request_log.py     gives each request an id, counts, times and logs it
headers.py         the security headers of every answer
request_filter.py  which requests are answered at all: name, origin, route
health.py          /healthz, /readyz and /metrics
sessions.py        recognizes each browser by a signed cookie and keeps its pages from others
queue_limit.py     limits the waiting events of gradio's pages; ends a stream that has no answers left to send
access_code.py     a class code that each browser enters once
body.py            limits the size and the time of request bodies; cleans their JSON
compression.py     compresses what a browser loads, and scripts only once for everyone
files.py           each browser can read only the files that it uploaded or that were made for it
cookie_signing.py  signs cookies with a secret from the data folder
asgi.py            reads headers and cookies, sends a sentence as an answer
metrics.py         the numbers of the server, for Prometheus
logs.py            one line of JSON for each thing worth noting
theme.py           the theme of the page and the contents of its head
"""
