"""Components for anybody's Gradio app: a view that answers, a strip of tokens to press, and the whole explorer.

They are subclasses of `gr.HTML` that hold the elements of our pages, and answer in the process of the app. Use them
like Gradio's own components, as outputs and inputs of listeners, in tabs and in `gr.render`:

    import gradio as gr
    from bertexplorer.blocks import View

    with gr.Blocks() as demo:
        text = gr.Textbox("Paris is the [MASK] of France.")
        view = View("fill-mask", text="Paris is the [MASK] of France.")
        text.submit(lambda sentence: {"text": sentence}, text, view)

Importing this package imports gradio; importing bertexplorer does not.
"""

import os

from bertexplorer.settings import QUIET

for name, setting in QUIET.items():  # before gradio is imported, so that it reports nothing to its makers
    os.environ.setdefault(name, setting)

from gradio import component_meta  # noqa: E402

write_stub = component_meta.create_or_modify_pyi
component_meta.create_or_modify_pyi = lambda *_: None  # gradio writes a file beside the source of each component
try:
    from bertexplorer.blocks.components import Explorer, TokenStrip, View
finally:
    component_meta.create_or_modify_pyi = write_stub

__all__ = ["Explorer", "TokenStrip", "View"]
