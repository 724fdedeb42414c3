"""The pages: one text with many views of it, lessons, and training.

gradio_patches.py  all patches of gradio, and what each patch relies on
page.py            the pages: Explore and Learn, which static/ draws, and Train and Pretrain
explore.py         answers: look up the checkpoint, analyse the text, draw the figure
comparing.py       the same view of other checkpoints, or of another text
schema.py          the views as JSON, from which the browser draws navigation, forms and examples
facts.py           known facts about a checkpoint, and the provenance of an answer
owner_binding.py   the owner of an event, and handlers restricted to that owner
link.py            the state that a link describes, and messages about unusable parts
state.py           everything that a user has set, written to a link and read from it
strip.py           the text as token chips, each a button that hides or picks its token
forms.py           an Options dataclass -> the components of a form
about.py           limits and promises in plain English, folded at the end of each page
html.py            the small pieces of HTML of Train and Pretrain; everything from outside is escaped here
view.py            View: an analysis and its figure, with a question, a note and examples
"""
