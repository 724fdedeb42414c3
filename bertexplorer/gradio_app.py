"""A plain Gradio app over the package: a view, a text, the view's settings, and the answer. `bx.app` makes it.

It opens with an answer, keeps what a person typed, and shows what a page of the package shows. examples/gradio_app.py
is a short one, to be read and copied. To run this one: python -m bertexplorer.gradio_app
"""

import html
import re
from typing import Any

import bertexplorer as bx
from bertexplorer.core.state import read_spans
from bertexplorer.options import OptionSpec, build
from bertexplorer.python.bert import join_list
from bertexplorer.settings import be_quiet
from bertexplorer.views import VIEWS
from bertexplorer.views.view import Example

be_quiet()  # before gradio is imported, so that it reports nothing to its makers

import gradio as gr  # noqa: E402

ABOUT = """# BERT Explorer
BERT runs where this app was started, and nothing is sent elsewhere. With `launch(share=True)`, all that is typed and
answered passes through a server of Gradio's."""
BOXES = {"text": "Text", "pair": "Second text (pair)", "pick": "Words to look at (pick)"}
EXAMPLE_TEXTS = {example.text for view in VIEWS.values() for example in view.examples}
ROWS = 1000  # of a table in the page; some views have 30,000, with which a browser is slow
MARKUP = re.compile(r"([!-/:-@\[-`{-~])")  # all characters that Markdown may read as markup


def app(view: str = "fill-mask", text: str = "", *, checkpoint: str = "mini", **options: Any) -> gr.Blocks:
    """A plain Gradio app that shows every view, opened at one of them.

    Use it in a notebook, or to look at the views in Gradio's own components. For an app of your own, begin with
    examples/gradio_app.py. The page of `serve` can do more.

    Args:
        view: the view to open, such as "attention".
        text: the text; without one, the app opens with the view's first example.
        checkpoint: the checkpoint to open with, as `load` takes it.
        **options: the settings of the view.

    Returns:
        The app, a `gr.Blocks`. Its `launch()` serves it on this machine, and shows it in a notebook.

    Raises:
        ExplorerError: for an unknown view, and for a setting or a value that the view does not take.

    Example:
        >>> app = bx.app("attention", "The animal was too tired because it ran.", layer=4)
        >>> app.launch()  # doctest: +SKIP
    """
    slug = str(view).replace("_", "-")
    if slug not in VIEWS:
        raise bx.ExplorerError(f"There is no view {view!r:.60}; wanted one of {', '.join(VIEWS)}.")
    settings = {name: join_list(name, value) for name, value in options.items()}
    build(VIEWS[slug].analysis.Options, settings, by_name=True)  # which checks them
    values = {"text": text} if text else filled(VIEWS[slug].examples[0])
    titles = [(f"{one.topic}: {one.title}", one.slug) for one in VIEWS.values()]

    with gr.Blocks(title="BERT Explorer", analytics_enabled=False) as demo:
        gr.Markdown(ABOUT)
        views = gr.Dropdown(titles, value=slug, label="View", interactive=True)
        opened = gr.State({"view": slug, "checkpoint": checkpoint, "values": values | settings})

        # Each view has settings of its own, so all below the list of views is made anew for each.
        @gr.render(inputs=opened, concurrency_id="ask", concurrency_limit="default")  # type: ignore[untyped-decorator]
        def show(opening: dict[str, Any]) -> None:
            show_view(opening, demo, views, opened)

    return demo.queue(default_concurrency_limit=2, max_size=50)


def show_view(opening: dict[str, Any], demo: gr.Blocks, views: gr.Dropdown, opened: gr.State) -> None:
    """The form and the answer of the view that was *opened*, from the list of *views*."""
    view = VIEWS[opening["view"]]
    names = list(dict.fromkeys([opening["checkpoint"], *bx.checkpoints()]))
    defaults = dict.fromkeys(BOXES, "") | {one.name: one.default for one in view.settings}
    values = defaults | opening["values"]
    examples = [example for example in view.examples if can_be_typed(example)]

    # 1. What is asked, on the left; the answer, on the right.
    gr.Markdown(f"## {view.question}")
    with gr.Row():
        with gr.Column():
            fields = {name: text_box(name, values[name]) for name in view.takes}
            fields |= {one.name: field(one, values[one.name]) for one in view.settings}
            used = view.checkpoint or opening["checkpoint"]
            checkpoint = gr.Dropdown(names, value=used, label="Checkpoint", info="", interactive=True)
            button = gr.Button("Ask", variant="primary")
            filled_in = [defaults | filled(example) for example in examples]
            rows = [[example[name] for name in fields] for example in filled_in]
            labels = [example.label for example in examples]
            chips = gr.Examples(rows, list(fields.values()), example_labels=labels)
        with gr.Column():
            said = gr.Markdown("", latex_delimiters=[])
            plot = gr.Plot(visible=False, show_label=False)
            page = gr.HTML(visible=False)
            gr.Markdown(f"**How not to misread it.** {escape(view.note)}", latex_delimiters=[])
            table = gr.Dataframe(visible=False, interactive=False)

    # 2. It answers when the view opens, when a person asks, and when an example is pressed.
    def answer(checkpoint: str, *given: Any) -> list[Any]:
        return shown(ask(view.name, checkpoint, **dict(zip(fields, given, strict=True))))

    def answer_first(*asked: Any) -> list[Any]:
        try:
            return answer(*asked)
        except gr.Error as error:  # nobody has asked yet, so this is no alarm
            return [escape(html.unescape(error.message)), *[gr.skip()] * 3]

    asked = [checkpoint, *fields.values()]
    answered = [said, plot, page, table]
    submits = [box.submit for box in fields.values() if isinstance(box, gr.Textbox)]
    demo.load(answer_first, asked, answered, concurrency_id="ask")
    gr.on([button.click, *submits], answer, asked, answered, concurrency_id="ask")
    chips.load_input_event.then(answer, asked, answered, concurrency_id="ask")

    # 3. The next view keeps the text that a person typed; in place of an example, it opens with its own.
    def change_view(now: dict[str, Any], slug: str, checkpoint: str, *given: Any) -> Any:
        if now["view"] == slug:  # a press on the list comes twice from gradio's page
            return gr.skip()
        if view.checkpoint:  # which only this view needs
            checkpoint = opening["checkpoint"]
        kept = values | dict(zip(fields, given, strict=True))
        texts = {name: kept[name] for name in BOXES}
        if kept["text"] in EXAMPLE_TEXTS:
            texts = filled(VIEWS[slug].examples[0])
        return {"view": slug, "checkpoint": checkpoint, "values": texts}

    views.input(change_view, [opened, views, *asked], opened, concurrency_limit=1)


def can_be_typed(example: Example) -> bool:
    """Whether the form can ask it: for the checkpoint that is here, and about words, not about a special token."""
    return not example.kind and all(span.side < 2 for span in read_spans(example.picked))


def filled(example: Example) -> dict[str, Any]:
    """What an example puts into the fields, by name."""
    texts = (example.text, example.pair)
    picked = [texts[span.side][span.start : span.end] for span in read_spans(example.picked)]
    return {"text": example.text, "pair": example.pair, "pick": ", ".join(picked), **example.options}


def text_box(name: str, value: str) -> gr.Textbox:
    return gr.Textbox(value, label=BOXES[name], info="", lines=2 if name == "text" else 1, interactive=True)


def field(setting: OptionSpec, value: Any) -> gr.components.Component:
    """A setting as a field of a form."""
    about = {"label": setting.option.label, "info": setting.option.info, "interactive": True}
    low, high = setting.option.low, setting.option.high
    if setting.choices:
        return gr.Dropdown(list(setting.choices), value=value, **about)
    if setting.kind is bool:
        return gr.Checkbox(value, **about)
    if low is not None and high is not None:
        return gr.Slider(low, high, value, step=1 if setting.kind is int else 0.01, **about)
    return gr.Textbox(value, lines=3 if setting.option.several else 1, **about)


def ask(analysis: str, checkpoint: str, *, pick: str = "", **question: Any) -> bx.Result:
    """The answer of a checkpoint. An error becomes a message over the page, which stays as it is."""
    words = [word.strip() for word in pick.split(",") if word.strip()]
    try:
        return bx.load(checkpoint).analyse(analysis, pick=words, **question)
    except bx.ExplorerError as error:
        raise gr.Error(html.escape(str(error)), print_exception=False) from error  # gradio reads it as HTML


def shown(result: bx.Result) -> list[Any]:
    """A result as sentence, plot, page and table, of which plot or page is visible."""
    said = escape(" ".join([result.said, *result.notes]))
    rows = result.to_pandas()
    label = "Rows" if len(rows) <= ROWS else f"The first {ROWS:,} of {len(rows):,} rows"
    table = gr.Dataframe(rows.head(ROWS).map(brief), label=label, visible=True)
    figure = result.figure
    if not isinstance(figure, str):
        figure.update_layout(paper_bgcolor="white")  # its colours are for light paper, also on a dark page
        return [said, gr.Plot(figure, visible=True), gr.HTML(visible=False), table]
    # BertViz and the forward pass are pages with scripts, which a sandbox keeps apart from this page.
    wide = "width: calc(100% + 24px); margin: 0 -12px"  # over the margins of gr.HTML: a phone is narrow
    style = f"{wide}; height: 600px; background: white; color-scheme: light"
    frame = f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{html.escape(figure)}"></iframe>'
    return [said, gr.Plot(visible=False), gr.HTML(frame, visible=True), table]


def brief(value: Any) -> Any:
    """A number with four digits that count; anything else as it is."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


def escape(text: str) -> str:
    """*text* as Markdown that shows every character as it is."""
    return MARKUP.sub(r"\\\1", text)


if __name__ == "__main__":
    font = [gr.themes.GoogleFont("IBM Plex Sans", weights=(400, 700)), "sans-serif"]  # which gradio brings
    app().launch(theme=gr.themes.Default(font=font), run_history=False)
