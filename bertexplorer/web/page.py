"""The pages: a frame of gradio, navigation and theme, into which the scripts in static/ draw each page."""

import gradio as gr

PAGES = {"Learn": "learn", "Train": "train", "Pretrain": "pretrain"}  # besides Explore: title -> its address


def build(*, runs: bool = True) -> gr.Blocks:
    """Build all pages; Train and Pretrain only with *runs*."""
    with gr.Blocks(title="BERT Explorer", analytics_enabled=False) as blocks:
        add_page("explore")
    for title, address in PAGES.items():
        if runs or address == "learn":
            with blocks.route(title, address):
                add_page(address)
    return blocks


def add_page(name: str) -> None:
    """Add a column that static/NAME.js fills."""
    gr.Navbar(main_page_name="Explore")
    gr.Column(elem_id=name)
