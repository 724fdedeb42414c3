"""A plain Gradio app over the package, to be read and copied: a view, a text, the view's settings, the answer.

To run it: python examples/gradio_app.py. `bx.app` makes a longer one, which opens with an answer.
"""

import html
import os

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # before gradio is imported: nothing leaves this machine

import gradio as gr

import bertexplorer as bx
from bertexplorer.blocks import View
from bertexplorer.views import VIEWS

ASKED = {name: view for name, view in VIEWS.items() if "text" in view.takes and not view.tuned}
FRAME = "width: 100%; height: 600px; background: white; color-scheme: light"
EXAMPLES = [
    ["fill-mask", "Paris is the [MASK] of France.", "", ""],
    ["next-sentence", "The cat slept on the sofa.", "It did not wake up when I came in.", ""],
    ["attention", "The animal didn't cross the street because it was too tired.", "", "it"],
]


def field(setting):
    """A setting as a field of a form."""
    about = {"label": setting.option.label, "info": setting.option.info, "interactive": True}
    if setting.choices:
        return gr.Dropdown(list(setting.choices), value=setting.default, **about)
    if setting.kind is bool:
        return gr.Checkbox(setting.default, **about)
    if setting.option.high is not None:
        step = 1 if setting.kind is int else 0.01
        return gr.Slider(setting.option.low, setting.option.high, setting.default, step=step, **about)
    return gr.Textbox(setting.default, **about)


with gr.Blocks(title="BERT Explorer", analytics_enabled=False) as demo:
    gr.Markdown("# BERT Explorer\nAll is computed here. With `launch(share=True)`, it passes through Gradio's server.")
    # What only events inside of gr.render use must say that it is interactive.
    view = gr.Dropdown(
        [(one.title, name) for name, one in ASKED.items()], value="fill-mask", label="View", interactive=True
    )
    text = gr.Textbox("Paris is the [MASK] of France.", label="Text", interactive=True)
    pair = gr.Textbox(label="Second text, for views of two", interactive=True)
    pick = gr.Textbox(label="Word to look at, for views of words", interactive=True)
    gr.Examples(EXAMPLES, [view, text, pair, pick])

    @gr.render(inputs=view)
    def show(name):
        fields = {setting.name: field(setting) for setting in ASKED[name].settings}
        button = gr.Button("Ask", variant="primary")
        said, plot, page, table = gr.Markdown(), gr.Plot(show_label=False), gr.HTML(), gr.Dataframe()

        def answer(text, pair, pick, *values):
            options = dict(zip(fields, values, strict=True))
            try:
                result = bx.load("mini").analyse(ASKED[name].name, text, pair, pick=pick or [], **options)
            except bx.ExplorerError as error:
                raise gr.Error(html.escape(str(error)), print_exception=False) from error
            figure = result.figure  # of plotly; of BertViz and the forward pass, a page with scripts
            is_page = isinstance(figure, str)
            frame = f'<iframe sandbox="allow-scripts" style="{FRAME}" srcdoc="{html.escape(str(figure))}"></iframe>'
            return (
                html.escape(result.said),
                gr.Plot(None if is_page else figure, visible=not is_page),
                gr.HTML(frame if is_page else "", visible=is_page),
                result.to_pandas().head(1000),
            )

        gr.on([button.click, text.submit], answer, [text, pair, pick, *fields.values()], [said, plot, page, table])

    with gr.Accordion("The same view as a component, with tokens to press", open=False):
        live = View("fill-mask", text=text.value)
    gr.on([view.change, text.submit], lambda name, typed: {"view": name, "text": typed}, [view, text], live)


if __name__ == "__main__":
    demo.queue(default_concurrency_limit=2, max_size=50).launch(run_history=False)
