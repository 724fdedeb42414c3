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

from bertexplorer.blocks.components import Explorer, TokenStrip, View

__all__ = ["Explorer", "TokenStrip", "View"]
