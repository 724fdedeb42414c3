"""The page: one text on a workbench, many views of it below.

quick.py     gradio imported without the editor stubs that take half of its import time
page.py      workbench, views, one figure, picker, and which event leads to which handler
handlers.py  what happens at each event of the page
screen.py    the components, read into a State, and an Answer written back to them
explore.py   what happens when a person types, presses, picks: look up, analyse, draw
seen.py      what the page held at an event, and what a person therefore asks for
turns.py     a tab's events in their order, and of the answers only the newest shown
slim.py      gradio's Blocks, spending nothing on what an answer leaves as it is
personal.py  whose event it is, and what that person may see
link.py      what the address bar asks of a page that opens, and what of it cannot be had
state.py     all that a person has set, to and from the address bar's link
strip.py     the text as token chips, each a button that hides its token
forms.py     an Options dataclass -> the components of a form
menu.py      a drop-down whose choices change while the page is open
about.py     limits and promises in plain words, folded at the end of each page
pieces.py    the small pieces of HTML; everything from outside is escaped here
example.py   a text that teaches something in a view, one click away
"""
