"""The pages in a browser.

gradio_patches.py  all patches of gradio, and what each patch relies on
page.py            the pages: Explore and Learn, which static/ draws, and Train and Pretrain
owner_binding.py   the owner of an event, and handlers restricted to that owner
forms.py           an Options dataclass -> the components of a form
html.py            the small pieces of HTML of Train and Pretrain; everything from outside is escaped here
"""
