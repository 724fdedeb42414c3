"""The pages: one text with many views of it, and those on which checkpoints learn.

gradio_patches.py  all patches of gradio, and what each patch relies on
page.py            Explore, which is drawn by the scripts in static/, and the pages on which checkpoints learn
explore.py         what happens when a person types, presses or picks: look up, analyse, draw
comparing.py       the same view of other checkpoints, or of another text
schema.py          the views as JSON, from which the browser draws navigation, forms and examples
facts.py           what is known about a checkpoint, and what produced an answer
owner_binding.py   whose event it is, and what that person may see
link.py            the state that a link asks for, and what of it cannot be followed
state.py           everything that a person has set, written to a link and read from it
strip.py           the text as token chips, each a button that hides or picks its token
forms.py           an Options dataclass -> the components of a form
about.py           limits and promises in plain words, folded at the end of each page
html.py            the small pieces of HTML of Train and Pretrain; everything from outside is escaped here
view.py            View: an analysis and its figure, with a question, a note and examples
"""
