"""Components for anybody's Gradio app: a view that answers, a strip of tokens to press, and the whole explorer.

They are subclasses of `gr.HTML` that hold the elements of our pages, and answer in the process of the app. Use them
like Gradio's own components, as outputs and inputs of listeners, in tabs and in `gr.render`. Importing this package
imports gradio; importing bertexplorer does not.
"""

from bertexplorer.settings import be_quiet

be_quiet()  # before gradio is imported, so that it reports nothing to its makers

from gradio import component_meta  # noqa: E402

write_stub = component_meta.create_or_modify_pyi
component_meta.create_or_modify_pyi = lambda *_: None  # gradio writes a file beside the source of each component
try:
    from bertexplorer.blocks.components import Explorer, TokenStrip, View
finally:
    component_meta.create_or_modify_pyi = write_stub

__all__ = ["Explorer", "TokenStrip", "View"]
