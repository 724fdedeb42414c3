"""The views by topic, in the order of the page.

view.py           View: an analysis and its figure, with a question, a note and examples
model.py          the view of the whole model
fill_mask.py      views of words predicted at masks
sentences.py      views of two sentences: does one follow, how similar are they
inputs.py         views of the input of the first layer
attention.py      views of the attention heads
embeddings.py     views of vectors: of words in context and of sentences
layers.py         the view of the answer after each layer
fine_tuned.py     the view of what a fine-tuned checkpoint answers
saliency.py       views of how much each token matters for an answer
behaviour.py      views of many sentences at once, and of the sentences around one
pretraining.py    views of what pretraining does with a text
"""

from bertexplorer.views import (
    attention,
    behaviour,
    embeddings,
    fill_mask,
    fine_tuned,
    inputs,
    layers,
    model,
    pretraining,
    saliency,
    sentences,
)
from bertexplorer.views.view import View

TOPICS = (
    model,
    fill_mask,
    sentences,
    inputs,
    attention,
    embeddings,
    layers,
    fine_tuned,
    saliency,
    pretraining,
    behaviour,
)
VIEWS: dict[str, View] = {view.slug: view for topic in TOPICS for view in topic.VIEWS}
