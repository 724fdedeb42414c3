"""Components of BERT Explorer in a Gradio app: two views of one sentence, and listeners in both directions.

To run it: python examples/gradio_components.py
"""

import gradio as gr

from bertexplorer.blocks import TokenStrip, View

SENTENCE = "The animal didn't cross the street because it was too [MASK]."

with gr.Blocks(title="Two views of one sentence", analytics_enabled=False) as demo:
    text = gr.Textbox(SENTENCE, label="Sentence", info="Enter shows it in both views.")
    layer = gr.Slider(1, 6, value=4, step=1, label="Layer of the attention")
    with gr.Row():
        with gr.Column():  # on a phone, columns go below each other
            words = View("fill-mask", text=SENTENCE)
        with gr.Column():
            heads = View("attention", text=SENTENCE, pick="it", options={"show": "head", "layer": 4, "head": 2}, strip=False)
    said = gr.Markdown()
    strip = TokenStrip(SENTENCE, press="pick", pick="it")

    text.submit(lambda sentence: [sentence] * 3, text, [words, heads, strip])
    words.change(lambda state: [state["text"], state["text"], state["text"]], words, [text, heads, strip])
    layer.release(lambda chosen: {"options": {"layer": chosen}}, layer, heads)
    strip.change(lambda value: {"picked": value["picked"]}, strip, heads)

    @words.answered(outputs=said)
    def tell(event: gr.EventData) -> str:
        return f"{event.title}: the first of {len(event.rows)} rows has “{event.rows[0]['token']}”."


if __name__ == "__main__":
    demo.launch()
