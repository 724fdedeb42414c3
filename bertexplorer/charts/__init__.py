"""Charts as data: plotly's JSON as plain dicts, without plotly."""
