"""The server: the page inside layers, each with one task.

launch.py          serves the application on its port until a signal ends it
connections.py     limits how many connections wait for a whole request, and how long a head may take
application.py     the page and the layers around it
request_log.py     gives each request an id, counts, times and logs it
headers.py         the security headers of every response
request_filter.py  admits only requests with a valid host name, origin and route
health.py          /healthz, /readyz and /metrics
sessions.py        recognizes each browser by a signed cookie
stream_limit.py    bounds the runs that one browser, and all, follow at a time
access_code.py     the access code, which each browser enters once
body.py            limits the size and the time of request bodies; cleans their JSON
compression.py     compresses pages, and scripts only once for everyone
cookie_signing.py  signs cookies with a secret from the data folder
asgi.py            helpers: read headers and cookies, send a text
metrics.py         the numbers of the server, for Prometheus
logs.py            logs as lines of JSON
"""
