"""The HTTP API, which the page uses too.

routes.py       all of it on one router
admission.py    the work of one request: its place in the queue, and its end if the client leaves
calls.py        what a view or an analysis is asked, as plain data, and where it is computed
perform.py      the answer to such a call, the same in every process
problems.py     every error as application/problem+json, in a sentence
models.py       requests and answers as pydantic models, made from the Options of the analyses
view.py         the Explore page's route: a state of the page in, its answer out
lessons.py      lessons read without their answers, and answers judged
classroom.py    a class that votes: rooms, votes, steps
analyses.py     a route for each analysis
checkpoints.py  lists the checkpoints to choose from, and fetches one
runs.py         fine-tuning started, listed, followed and stopped
suite_runs.py   suites of any size as runs
tools.py        analyses for MCP clients, over stdio or at /mcp
documents.py    the API in OpenAPI, and a page that reads it
static/         that page, its script and its style
"""
