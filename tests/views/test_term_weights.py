"""Term weights: SPLADE's formula as a loop over transformers' logits; the score of two texts as a sum of products."""

import math

import pytest
import torch
import transformers
from torch import Tensor

from bertexplorer import engine
from bertexplorer.engine import splade
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text
from bertexplorer.views.term_weights import compute as term_weights
from bertexplorer.views.term_weights.compute import Facts, Options
from tests.conftest import Tiny
from tests.tolerance import of_encoder
from tests.views.conftest import CLOSE, Reference

PAIR = Text("Physicians see sick people.", "The doctor examined the patient.")


def weights(logits: Tensor) -> list[float]:
    """max over the tokens of log(1 + relu(logit)), piece by piece."""
    return [max(math.log(1 + max(0.0, float(x))) for x in column) for column in logits.T]


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
def test_weights_are_those_of_the_formula(family: str, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splade, "CHUNK", 3)  # several chunks
    checkpoint = load(tiny(family), precision="fp32", device="cpu")
    model = transformers.AutoModelForMaskedLM.from_pretrained(tiny(family), dtype=torch.float32).eval()
    encoding = checkpoint.tokenizer.encode("the cat sat on the mat , she said in paris .")
    with torch.no_grad():
        logits = model(torch.tensor([encoding.ids])).logits[0]
    found, where = engine.term_weights(checkpoint, encoding)
    wanted = weights(logits[:, : checkpoint.tokenizer.vocab_size])
    assert found.tolist() == pytest.approx(wanted, abs=of_encoder(checkpoint.config, 20.0))
    best = logits[:, : checkpoint.tokenizer.vocab_size].max(dim=0).values
    for piece, position in enumerate(where.tolist()):
        assert float(logits[position, piece]) == pytest.approx(float(best[piece]), abs=1e-4)


def test_the_score_is_the_sum_of_products(mini: Checkpoint, reference: Reference) -> None:
    result = term_weights.run(mini, PAIR)
    tables = []
    for text in (PAIR.first, PAIR.second):
        with torch.no_grad():
            logits = reference.model(input_ids=torch.tensor([reference.ids(text)])).logits[0]
        tables.append(logits.relu().log1p().max(dim=0).values.double())
    assert result.score == pytest.approx(float((tables[0] * tables[1]).sum()), rel=CLOSE)
    assert [terms.above_zero for terms in result.texts] == [int((table > 0).sum()) for table in tables]
    shared = result.common[0]
    piece = mini.tokenizer.backend.token_to_id(shared.word)
    assert shared.weight == pytest.approx(float(tables[0][piece] * tables[1][piece]), rel=CLOSE)
    both = set(reference.ids(PAIR.first)) & set(reference.ids(PAIR.second)) - {101, 102}
    assert result.literal == pytest.approx(sum(float(tables[0][i] * tables[1][i]) for i in both), rel=CLOSE)


def test_a_hidden_word_is_read_as_a_mask(mini: Checkpoint) -> None:
    hidden = Text("The judge sentenced the thief to prison.", hidden=(Span(0, 33, 39),))
    result = term_weights.run(mini, hidden)
    assert "prison" not in [term.word for term in result.texts[0].own]
    assert any("[MASK]" in term.sources for term in result.texts[0].added)


def test_a_checkpoint_without_an_mlm_head_has_no_weights(tiny: Tiny) -> None:
    with pytest.raises(ExplorerError, match="head"):
        term_weights.run(load(tiny("electra-discriminator")), "a cat")


def test_words_are_in_the_text_or_added(mini: Checkpoint) -> None:
    result = term_weights.run(mini, "The judge sentenced the thief to prison.", options=Options(top=20))
    own, added = ({term.word for term in terms} for terms in (result.texts[0].own, result.texts[0].added))
    assert own == {"the", "judge", "sentenced", "thief", "to", "prison"}, "no punctuation, no special token"
    assert len(added) == 20 and not own & added and not result.common and math.isnan(result.score)
    assert Facts(mini, Text("x"), result).above_zero() == result.texts[0].above_zero
