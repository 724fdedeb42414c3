"""What is asked and answered, whoever asks: the page, HTTP, MCP, the command line, a lesson, a class.

state.py       everything that a user has set, written to a link and read from it
link.py        the state that a link describes, and messages about unusable parts
ask.py         answers: look up the checkpoint, analyse the text, draw the figure
strip.py       the text as token chips, each a button that hides or picks its token
compare.py     the same view of other checkpoints, or of another text
provenance.py  known facts about a checkpoint, and the provenance of an answer
"""
