"""Somebody's Gradio app with components of ours: listeners each way, a tab that opens later, a view that gr.render
makes anew, and a checkpoint that only this program has."""

import sys
import time
from pathlib import Path

import gradio as gr
from transformers import AutoModelForMaskedLM, AutoTokenizer

import bertexplorer as bx
from bertexplorer.blocks import Explorer, TokenStrip, View

FRANCE = "Paris is the [MASK] of France."
EVIL = "${alert(1)} {{value}} <img src=x onerror=alert(2)>"
folder = Path(sys.argv[1])
model, tokenizer = AutoModelForMaskedLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
own = bx.from_transformers(model, tokenizer, name=EVIL)

with gr.Blocks(analytics_enabled=False) as demo:
    text = gr.Textbox(FRANCE, label="Mine")
    view = View("fill-mask", text=FRANCE, elem_id="first")
    said = gr.Textbox(label="Said")
    shown = gr.Textbox(label="Shown")
    text.submit(lambda sentence: {"text": sentence}, text, view)
    view.change(lambda state: state["text"], view, shown)

    @view.answered(outputs=said)
    def hear(event: gr.EventData) -> str:
        time.sleep(0.5)  # a person types on meanwhile
        return f"{event.title}: {len(event.rows)} rows. {event.sentence}"

    gr.Examples([[{"text": "The <b>cat</b> [MASK]."}]], view)
    with gr.Tab("Later"):
        strip = TokenStrip("The cat sat.", mask="cat", elem_id="strip")
        pressed = gr.Textbox(label="Pressed")
        strip.select(lambda value, event=None: value["hidden"], strip, pressed)
        View("attention", text="A quiet river.", checkpoint=own, elem_id="own", strip=False)
        View("fill-mask", text=FRANCE, options={"words": EVIL}, elem_id="odd", strip=False)
    with gr.Tab("Explorer"):
        Explorer("attention", views=["fill-mask"], elem_id="explorer")
    with gr.Tab("Anew"):
        word = gr.Radio(["cat", "dog"], value="cat", label="Word")

        @gr.render(inputs=word)
        def anew(chosen: str) -> None:
            View("word-in-context", text=f"A {chosen} and a {chosen}.", pick=chosen, elem_id="anew")


if __name__ == "__main__":
    demo.launch()
