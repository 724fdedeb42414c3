"""Sites of other checkpoints in Chromium: families and sentence encoders answer there as the package does."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

import bertexplorer as bx
from bertexplorer.api.calls import Call
from bertexplorer.api.perform import perform
from bertexplorer.core.ask import Answerer, opening
from bertexplorer.settings import Settings
from bertexplorer.site import folder as folders
from bertexplorer.store.registry import CheckpointRegistry
from tests import tiny as recipes
from tests.browser.conftest import opened
from tests.conftest import Tiny
from tests.golden.compare import differences
from tests.golden.normalise import normalised
from tests.site.answers import PAINTED, ask, rows_of, served
from tests.tiny import write, write_sentence_encoder


def write_small(out_of: Path | list[Path], out: Path, monkeypatch: pytest.MonkeyPatch, **chosen: Any) -> dict[str, Any]:
    """Write the site of another checkpoint, or of several, without recorded answers and lessons."""
    sources = [out_of] if isinstance(out_of, Path) else out_of
    monkeypatch.setattr(folders, "record", lambda *given: {})
    monkeypatch.setattr(folders, "write_lessons", lambda *given: None)
    return folders.write(CheckpointRegistry(Settings(), anywhere=True), out, [*map(str, sources)], "fp32", **chosen)


SAID = {  # view -> texts and settings of which a browser says what the package says
    "tokenization": (("The caf\u00e9 (a good one)  isn't in  London, she said.",), {}),
    "search": (("The cat sat on the mat.",), {}),
    "input-vectors": (("The cat sat on the mat.",), {}),
    "attention": (("The cat sat.",), {"measure": "norm", "layer": 3, "merge": True}),
    "attention-flow": (("The cat sat.",), {}),
    "layers": (("The cat sat on the [MASK].",), {}),
    "saliency": (("The cat sat on the [MASK].",), {"method": "occlusion"}),
    "sentence-similarity": (("The cat sat.", "A dog."), {}),
    "forward-pass": (("The cat [MASK].",), {}),
    "word-path": (("The bank. A bank.",), {}),
}


def near(rows: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> bool:
    """Whether *rows* have the words of *wanted*, and about its numbers."""
    return json.loads(json.dumps(wanted)) == [
        {
            name: pytest.approx(value, abs=2e-3) if isinstance(value, int | float) else value
            for name, value in row.items()
        }
        for row in rows
    ]


@pytest.mark.parametrize(
    ("family", "turns"),  # whether positions turn or shift the scores of attention
    [
        *[("distilbert", False), ("xlm-roberta", False), ("albert", False)],
        *[("deberta", True), ("modernbert", True), ("eurobert", True)],
    ],
)
def test_a_checkpoint_of_another_family(
    family: str, turns: bool, browser: Browser, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their tokenizers are WordPiece, bytes (ModernBERT, EuroBERT) and Unigram (XLM-R, ALBERT, DeBERTa). ALBERT's
    layers are one; ModernBERT and EuroBERT normalise before each half of a layer. What a family lacks is left out; the
    rest is as usual. tests/site/test_graph.py has the graphs of the other families."""
    written = write_small(tiny(family), tmp_path / "public", monkeypatch)
    assert "Next sentence" in written["left_out"] and "One mask" not in written["left_out"]
    assert ("Query and key" in written["left_out"]) is turns
    bert = bx.load(tiny(family), precision="fp32")
    with served(tmp_path / "public") as address, opened(browser, address) as page:
        page.wait_for_selector(PAINTED)
        found = rows_of(page, {"view": "fill-mask", "text": "The cat sat on the [MASK].", "options": {}})
        wanted = bert.fill_mask("The cat sat on the [MASK].").rows
        assert [row["token"] for row in found] == [row["token"] for row in wanted]
        assert [row["probability"] for row in found] == pytest.approx([row["probability"] for row in wanted], rel=1e-4)
        for view, (texts, options) in SAID.items():
            state = {"view": view, "text": texts[0], "pair": "".join(texts[1:]), "options": options}
            answer = ask(page, "view", {"body": {"state": state}})["answer"]
            wanted = bert.analyse(view.replace("-", "_"), *texts, **options)
            assert answer.get("said") == wanted.said, answer
            if view in ("forward-pass", "attention", "tokenization"):
                assert near(rows_of(page, state), wanted.rows)
        if family == "distilbert":  # for all, as each loads the runtime anew
            page.goto(f"{address}?view=next-sentence")
            expect(page.locator("#message")).to_contain_text("There is no view 'next-sentence'")
            page.wait_for_selector(PAINTED)


def test_a_discriminator_is_asked_whether_a_token_was_replaced(
    browser: Browser, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ELECTRA's: the token that is likeliest to be, or a picked one."""
    source = tiny("electra-discriminator")
    views = ["layers", "saliency", "switchboard"]
    written = write_small(source, tmp_path / "public", monkeypatch, views=[*views, "forward-pass"], lessons=[])
    assert written["left_out"] == ["Forward pass"]
    settings = {"layers": {}, "saliency": {"method": "occlusion"}, "switchboard": {"off": "1·1", "controls": 0}}
    bert = bx.load(source, precision="fp32")
    texts = {"The cat sat on the mat.": [], "A good [MASK].": [(0, 2, 6)]}  # with the picked words
    with served(tmp_path / "public") as address, opened(browser, address) as page:
        page.wait_for_selector(PAINTED)
        for view in views:
            for text, picked in texts.items():
                options = {name: value for name, value in settings[view].items() if name != "controls"}
                spans = "".join(f"{side}:{start}-{end}" for side, start, end in picked)
                state = {"view": view, "text": text, "picked": spans, "options": options}
                wanted = bert.analyse(view, text, pick=picked, **settings[view])
                answer = ask(page, "view", {"body": {"state": state}})["answer"]
                assert answer.get("said") == wanted.said, answer
                assert near(rows_of(page, state), wanted.rows)
        words = {"view": "layers", "text": "The cat.", "options": {"words": "new"}}
        refused = ask(page, "view", {"body": {"state": words}})["answer"]["detail"]
        assert refused == "There is no tag 'new'; there are original, replaced. Choose one of these."


BY_LABEL: dict[str, dict[str, Any]] = {  # views that read a label, too
    "layers": {},
    "saliency": {"method": "occlusion"},
    "switchboard": {"off": "1·1", "controls": 0},
}
CLASSIFIERS: dict[str, dict[str, Any]] = {  # recipe -> what its config says
    "bert-SequenceClassification": {  # a re-ranker
        "id2label": {0: "LABEL_0"},
        "sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid", "version": "4.0.0"},
    },
    "roberta-SequenceClassification": {"id2label": {0: "contradiction", 1: "entailment", 2: "neutral"}},
}


@pytest.mark.parametrize("recipe", CLASSIFIERS)
def test_a_fine_tuned_head_gives_the_labels_and_scores_of_the_server(
    recipe: str, browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A re-ranker, whose dense layer is BERT's pooler, and a checkpoint for inference with a dense layer of its own."""
    source = recipes.write(tmp_path / "source", recipe, **CLASSIFIERS[recipe])
    by_label = BY_LABEL if len(CLASSIFIERS[recipe]["id2label"]) > 1 else {}
    written = write_small(source, tmp_path / "public", monkeypatch, views=["answer", *by_label], lessons=[])
    assert not written["left_out"]
    answerer = Answerer(CheckpointRegistry(Settings(precision="fp32"), anywhere=True))
    first = replace(opening(answerer.registry.settings), checkpoint=str(source))
    pair = {"text": "The cat sat on the mat.", "pair": "A dog sat in Paris.", "hidden": "0:4-7"}
    states = [
        {"view": "answer", **pair, "options": {"others": "A good film. | The bank"}},
        {"view": "answer", "text": "A good [MASK]." if recipe.startswith("bert") else "A good <mask>.", "options": {}},
    ]
    for view, options in by_label.items():
        states.append({"view": view, **pair, "options": options})
    with served(tmp_path / "public") as address, opened(browser, address) as page:
        page.wait_for_selector(PAINTED)
        for state in states:
            wanted = json.loads(perform(answerer, first, Call("view", "", "", {"state": state})).body)
            found = ask(page, "view", {"body": {"state": state}})["answer"]
            for part in ("said", "strip", "figure", "detail"):
                changes = differences(normalised(wanted.get(part)), normalised(found.get(part)))
                assert not list(changes), (state, part)
            if "said" in wanted:
                call = Call("export", "json", "", {"state": state})
                assert near(rows_of(page, state), json.loads(perform(answerer, first, call).body)["rows"])


def test_a_site_offers_the_views_that_were_chosen(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that its lessons show are there as well. In a long text, Saliency hides neighbours together."""
    source, out = write(tmp_path / "bert", "bert", max_position_embeddings=512), tmp_path / "public"
    written = write_small(source, out, monkeypatch, views=["attention", "saliency"], lessons=[])
    assert written["left_out"] == []
    assert list(json.loads((out / "data" / "page.json").read_text("utf-8"))["views"]) == ["attention", "saliency"]
    with served(out) as address, opened(browser, address) as page:
        page.wait_for_selector(PAINTED)
        page.get_by_role("button", name="All views").click()
        expect(page.locator("dialog [data-view]")).to_have_count(2)
        page.keyboard.press("Escape")
        page.locator("#picker > summary").click()
        expect(page.locator("#checkpoint-list")).to_be_hidden()
        text = "The cat sat on the [MASK]. " + "A great film, she said. " * 24
        state = {"view": "saliency", "text": text, "options": {"method": "occlusion"}}
        wanted = bx.load(source, precision="fp32").saliency(text, method="occlusion")
        answer = ask(page, "view", {"body": {"state": state}})["answer"]
        assert answer.get("said") == wanted.said, answer
        assert "neighbouring words" in wanted.said
        assert near(rows_of(page, state), wanted.rows)


def test_a_visitor_picks_one_of_several_checkpoints(
    browser: Browser, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has its own weights, views and answers. A link names one; a site of one has nothing to pick."""
    sources = [tiny("bert"), tiny("bert-SequenceClassification")]
    written = write_small(
        sources, tmp_path / "public", monkeypatch, views=["attention", "answer", "fill-mask"], lessons=[]
    )
    names = [source.name for source in sources]
    assert [other["name"] for other in written["others"]] == names[1:]
    bert = bx.load(sources[1], precision="fp32")
    answer = {"view": "answer", "text": "The cat sat.", "options": {}}
    with served(tmp_path / "public") as address, opened(browser, f"{address}?view=attention&text=The+cat+sat.") as page:
        page.wait_for_selector(PAINTED)
        refused = ask(page, "view", {"body": {"state": {**answer, "checkpoint": names[0]}}})
        assert "no view 'answer'" in refused["answer"]["detail"]
        page.locator("#picker > summary").click()
        expect(page.locator("#checkpoint-list option")).to_have_count(2)
        expect(page.locator("#checkpoint-name")).to_be_hidden()
        page.locator("#checkpoint-list").select_option(names[1])
        expect(page.locator("#picker > summary")).to_contain_text(names[1])
        expect(page.locator(".receipt")).to_contain_text(f"{names[1]} · fp32 · in this browser")
        assert "view=attention" in page.url and "The+cat+sat." in page.url
        assert near(rows_of(page, answer), bert.analyse("answer", "The cat sat.").rows)
        page.goto(f"{address}?checkpoint={names[1]}&view=answer&text=A+good+film.")
        expect(page.locator(".said").first).to_contain_text("The label is")
        page.go_back()
        expect(page.locator(".receipt")).to_contain_text(names[1])
        page.goto(address)
        expect(page.locator("#picker > summary")).to_contain_text(f"{names[0]} ·")


ENCODERS: dict[str, dict[str, Any]] = {
    "the first token, behind a prompt that is not pooled": {
        "pooling": {"pooling_mode_cls_token": True, "include_prompt": False},
        "settings": {"prompts": {"query": "the dog : ", "passage": "paris "}, "default_prompt_name": "passage"},
        "options": {"search": {"prompt": "query"}, "sentence-similarity": {"first_prompt": "query"}},
    },
    "dense layers, compared by dot products": {
        "pooling": {"pooling_mode": ["mean", "max"]},
        "dense": ["Identity", "Identity"],
        "normalize": False,
        "settings": {"similarity_fn_name": "dot"},
    },
    "weights by position, twelve tokens, in lower case": {
        "pooling": {"pooling_mode": "weightedmean"},
        "max_seq_length": 12,
        "do_lower_case": True,
        "settings": {"similarity_fn_name": "euclidean", "truncate_dim": 20},
    },
}


@pytest.mark.parametrize("name", ENCODERS)
def test_a_sentence_encoder_is_followed_as_its_files_say(
    name: str, browser: Browser, tiny_copy: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = {**ENCODERS[name]}
    settings, options = about.pop("settings"), about.pop("options", {})
    source = write_sentence_encoder(tiny_copy("bert"), **about)
    (source / "config_sentence_transformers.json").write_text(json.dumps(settings), "utf-8")
    written = write_small(source, tmp_path / "public", monkeypatch)
    assert "Similarity" not in written["left_out"]
    bert = bx.load(source, precision="fp32")
    texts = "The cat sat on the mat in London.", "A great film, she said. A dog sat in Paris on the mat of the doctor."
    with served(tmp_path / "public") as address, opened(browser, address) as page:
        page.wait_for_selector(PAINTED)
        for view in ("search", "sentence-similarity"):
            settings = options.get(view, {})
            state = {"view": view, "text": texts[0], "pair": texts[1], "options": settings}
            wanted = getattr(bert, view.replace("-", "_"))(*texts, **settings)
            answer = ask(page, "view", {"body": {"state": state}})["answer"]
            assert "said" in answer, answer["detail"]
            said = answer["said"]
            found = rows_of(page, state)
            if name.startswith("the first token") and view == "sentence-similarity":
                assert found == [] and "a browser does not take it apart" in said
                assert said.split(". ")[:2] == wanted.said.split(". ")[:2]
                assert wanted.said.split("Each text’s vector is ")[1] == said.split("Each text’s vector is ")[1]
                continue
            assert said == wanted.said
            assert len(found) == len(wanted.rows)
            for row, other in zip(found, wanted.rows, strict=True):
                assert {key: row[key] for key in row if isinstance(row[key], str)} == {
                    key: str(other[key]) for key in row if isinstance(row[key], str)
                }
                numbers = [key for key in row if isinstance(row[key], float)]
                assert [row[key] for key in numbers] == pytest.approx([other[key] for key in numbers], abs=1e-3)
