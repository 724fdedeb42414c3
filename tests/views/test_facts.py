"""Facts: a layer that does not exist is named by the number that was asked for."""

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.text import Text
from bertexplorer.views.layers import compute as layers
from bertexplorer.views.word_in_context import compute as word_in_context
from bertexplorer.views.word_path import compute as word_path

BANK = "They sat on the bank. The bank lent him money."


def test_a_missing_layer_is_reported_by_the_requested_number(mini: Checkpoint) -> None:
    mask, bank = Text("Paris is the [MASK] of France."), Text(BANK)
    contexts = word_in_context.run(mini, bank, options=word_in_context.Options(word="bank"))
    paths = word_path.run(mini, bank, options=word_path.Options(word="bank"))
    questions = (
        layers.Facts(mini, mask, layers.run(mini, mask)).entropy,
        word_in_context.Facts(mini, bank, contexts).mean,
        word_in_context.Facts(mini, bank, contexts).random,
        word_path.Facts(mini, bank, paths).to_input,
        word_path.Facts(mini, bank, paths).apart,
    )
    for question in questions:
        assert isinstance(question(6), float), "layer 6 is the last"
        for missing in (7, -2):
            with pytest.raises(ExplorerError, match=f"There is no layer {missing}; there are 0 to 6"):
                question(missing)
