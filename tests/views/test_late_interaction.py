"""Late interaction: MaxSim as a loop over transformers' hidden states."""

from pathlib import Path

import pytest
import torch
import transformers
from torch import Tensor

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text
from bertexplorer.views.late_interaction import compute as late_interaction
from bertexplorer.views.late_interaction.compute import Facts, Options
from tests.conftest import Tiny
from tests.tiny import write_sentence_encoder
from tests.views.conftest import NEAR

PAIR = Text("the cat sat on a mat .", "a dog in paris sat on the mat , she said .")
TOAD = Text("Where does the blue toad sleep?", "The blue toad sleeps in hollow trees and comes out at dusk.")


def states(folder: Path, text: str, layer: int) -> Tensor:
    ids = transformers.AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
        result: Tensor = model(ids, output_hidden_states=True).hidden_states[layer][0]
    return result


def cosine(a: Tensor, b: Tensor) -> float:
    return float(a @ b / (a.norm() * b.norm()))


@pytest.mark.parametrize("special", ["left out", "included"])
@pytest.mark.parametrize(("family", "layer"), [("bert", -1), ("bert", 1), ("roberta", -1)])
def test_the_score_is_maxsim(special: str, family: str, layer: int, tiny: Tiny) -> None:
    options = Options(layer=layer, special=special)  # type: ignore[arg-type]
    result = late_interaction.run(load(tiny(family), precision="fp32", device="cpu"), PAIR, options=options)
    query, passage = (states(tiny(family), text, layer) for text in (PAIR.first, PAIR.second))
    if special == "left out":
        query, passage = query[1:-1], passage[1:-1]
    table = [[cosine(a, b) for b in passage] for a in query]
    assert result.cosines.shape == (len(query), len(passage))
    for i, line in enumerate(table):
        assert result.cosines[i].tolist() == pytest.approx(line, abs=NEAR)
        assert line[result.matches[i]] == pytest.approx(max(line), abs=NEAR)
    assert result.score == pytest.approx(sum(map(max, table)), abs=len(table) * NEAR)


def test_passages_are_ranked_by_their_scores(mini: Checkpoint) -> None:
    others = ["Kids kick a ball.", "A frog sleeps in the pond.", "Blue paint is expensive."]
    result = late_interaction.run(mini, TOAD, options=Options(others=" | ".join([*others, TOAD.second])))
    alone = {t: late_interaction.run(mini, Text(TOAD.first, t)).score for t in [TOAD.second, *others]}
    assert [passage.text for passage in result.passages] == sorted(alone, key=lambda text: -alone[text])
    for passage in result.passages:
        assert passage.score == pytest.approx(alone[passage.text], abs=10 * NEAR)
        assert passage.own == (passage.text == TOAD.second)
    assert not late_interaction.run(mini, TOAD).passages


def test_a_hidden_word_is_compared_as_a_mask(mini: Checkpoint) -> None:
    hidden = Text(TOAD.first, TOAD.second, hidden=(Span(1, 4, 8),))
    assert "[MASK]" in late_interaction.run(mini, hidden).passage


def test_what_cannot_be_compared_is_said(mini: Checkpoint, tiny_copy: Tiny) -> None:
    with pytest.raises(ExplorerError, match="There is no passage in which"):
        late_interaction.run(mini, "one text")
    with pytest.raises(ExplorerError, match="has layers 1 to 6"):
        late_interaction.run(mini, TOAD, options=Options(layer=9))
    with pytest.raises(ExplorerError, match="the table can have 20,000 cells"):
        late_interaction.run(mini, Text("cat " * 200, "dog " * 200))
    odd = load(write_sentence_encoder(tiny_copy("bert"), {"pooling_mode": "unknown"}))
    assert "cannot be used" in late_interaction.run(odd, PAIR).caveats[0]


def test_words_find_their_match(mini: Checkpoint) -> None:
    result = late_interaction.run(mini, TOAD)
    facts, rows = Facts(mini, TOAD, result), late_interaction.rows(result)
    assert facts.score() == pytest.approx(sum(float(str(row["cosine"])) for row in rows if row["best"]))
    tokens = mini.tokenizer.encode(TOAD).tokens
    assert result.shown[tokens.index("toad")] == pytest.approx(facts.cosine("toad"))
    assert tokens.index("[SEP]") not in result.shown and max(result.shown) < len(tokens)
