"""The server: the page behind layers that each keep one thing out, or let one thing be seen.

launch.py       the application on its port, until a signal ends it
connections.py  how long and how many connections may wait for the head of a request
application.py  the page, and around it the layers that a request passes
watch.py        each request with an id, counted, timed and written down
headers.py      what a browser is told of every answer
guard.py        which requests are answered at all: name, origin, route
health.py       /healthz, /readyz and /metrics
owners.py       each browser known again by a signed cookie, its pages kept from others
line.py         so many events of gradio's pages wait; a stream without answers ends
gate.py         a class code, asked for once
body.py         how much may come in and how long it may take; JSON made fit to be answered
packed.py       what a browser loads, compressed; scripts once for all
files.py        each browser has the files that it uploaded or that were made for it
seal.py         what signs cookies, with a secret of the data folder
reply.py        headers and cookies read, a sentence sent
metrics.py      the numbers of the server, for Prometheus
logs.py         one line of JSON for each thing worth noting
look.py         the theme of the page, what stands in its head
"""
