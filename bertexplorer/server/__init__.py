"""The server: the page behind layers that each keep one thing out, or let one thing be seen."""
