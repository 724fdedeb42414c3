"""The HTTP API, which the page uses too.

routes.py       the whole API on one router
admission.py    answers a request in a thread once it has a place in a queue; stops if the client disconnects
calls.py        questions to a view or an analysis as plain data, and the backends that answer them
perform.py      answers a call, in the same way in every process
problems.py     errors as application/problem+json
models.py       requests and answers as pydantic models, made from the Options of the analyses
view.py         the route of the Explore page: a state of the page in, its answer out
page.py         the views as JSON, from which the browser draws navigation, forms and examples
about.py        limits and promises in plain English, folded at the end of each page
upload_turns.py reads one upload of each owner and two in all at a time
lesson_calls.py what a checkpoint answers for lessons and classes, as calls that any process can perform
lessons.py      serves lessons without their answers, and grades answers
classroom.py    a class that votes: rooms, votes, steps
analyses.py     a route for each analysis
checkpoints.py  lists the checkpoints, and downloads one
files.py        uploads for runs, and exports of runs
runs.py         fine-tuning, from the first look at the rows to what a run has learned
run_models.py   requests and answers of runs as pydantic models
experiments.py  the papers' experiments of pretraining: listed, started, followed
suite_runs.py   suites of any size as runs
tool_calls.py   the result of a tool, as a call that any process can perform
tools.py        analyses for MCP clients, over stdio or at /mcp
documents.py    the OpenAPI document, and a page that shows it
static/         that page, its script and its style
"""
