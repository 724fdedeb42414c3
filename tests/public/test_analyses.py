"""The analyses in Python: names, signatures, documentation, examples, errors."""

import ast
import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

import bertexplorer as bx
from bertexplorer.model.text import Span
from bertexplorer.options import option_specs
from bertexplorer.views import VIEWS, view_of
from docs.signatures import TARGET, written
from tests.conftest import ROOT, Tiny
from tests.tolerance import of_sum

FRANCE = "Paris is the [MASK] of France."
HEAVY = ("torch", "numpy", "plotly", "gradio", "transformers")


@pytest.fixture(scope="module")
def bert(tiny: Tiny) -> bx.Bert:
    return bx.load(tiny("bert"), precision="fp32")  # like transformers: "auto" is bf16 on some processors


@pytest.mark.parametrize("name", VIEWS.names)
def test_every_analysis_is_a_documented_function_and_method(name: str, bert: bx.Bert) -> None:
    ask, method = getattr(bx, name), getattr(bert, name)
    options = {s.name for s in option_specs(view_of(name).analysis.Options)}
    parameters = set(inspect.signature(ask).parameters)
    about = set() if view_of(name).first else {"text", "pair", "mask", "pick"}
    assert parameters == options | about | {"checkpoint", "precision"}
    assert set(inspect.signature(method).parameters) == parameters - {"checkpoint", "precision"}
    doc = inspect.getdoc(ask) or ""
    own = VIEWS[name.replace("_", "-")].checkpoint  # its example then uses that
    assert f">>> bx.{'load' if own else name}(" in doc and f".{name}(" in doc and len(doc) > 200
    assert all(f"    {option}: " in doc for option in options - {"lines", "rows"})
    assert name in dir(bx) and name in dir(bert)


@pytest.mark.slow
@pytest.mark.parametrize("name", VIEWS.names)
def test_the_example_of_every_analysis_runs(name: str) -> None:
    _, _, example = (inspect.getdoc(getattr(bx, name)) or "").rpartition(">>> ")
    value = eval(example, {"bx": bx})
    assert isinstance(value, str) and len(value.split()) > 4


def test_the_signatures_for_editors_are_those_of_the_code() -> None:
    assert TARGET.read_text("utf-8") == written(), "run python -m docs.signatures"


def test_every_exported_name_and_member_has_documentation() -> None:
    for name in sorted(set(dir(bx)) - {"__version__"}):
        doc = inspect.getdoc(getattr(bx, name)) or ""
        assert len(doc.split()) > 5, name
    silent = [
        f"{name}.{member}"
        for name in bx.MODULES
        if inspect.isclass(kind := getattr(bx, name))
        for member, value in vars(kind).items()
        if not member.startswith("_")
        and inspect.isfunction(target := getattr(value, "func", getattr(value, "fget", value)))
        and not inspect.getdoc(target)
    ]
    assert silent == []


def test_nothing_heavy_is_imported_with_the_package() -> None:
    tree = ast.parse((ROOT / "bertexplorer" / "__init__.py").read_text("utf-8"))
    outside = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {ast.unparse(node).split()[1] for node in outside} == {"importlib", "typing"}


@pytest.mark.slow
def test_one_analysis_does_not_import_the_others() -> None:
    code = f"import bertexplorer as bx, sys; print([m for m in {HEAVY} if m in sys.modules]); bx.fill_mask; "
    code += "print([m for m in sys.modules if m.startswith('bertexplorer.views.')], 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    before, after = done.stdout.splitlines()
    assert before == "[]" and "saliency" not in after and after.endswith("False")


def test_fill_mask_equals_that_of_transformers(tiny: Tiny, bert: bx.Bert) -> None:
    folder = tiny("bert")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.BertForPreTraining.from_pretrained(folder).eval()
    inputs = tokenizer(FRANCE, return_tensors="pt")
    with torch.no_grad():
        row = model(**inputs).prediction_logits[0, inputs.input_ids[0].tolist().index(tokenizer.mask_token_id)]
    best = row.softmax(-1).topk(3)
    result = bert.fill_mask(FRANCE, top=3)
    assert [r["token"] for r in result.rows] == tokenizer.convert_ids_to_tokens(best.indices.tolist())
    assert [r["probability"] for r in result.rows] == pytest.approx(best.values.tolist(), abs=of_sum(32 * 3))


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "albert", "mpnet", "deberta", "modernbert"])
def test_a_model_in_memory_answers_like_its_folder(tiny: Tiny, family: str) -> None:
    folder = tiny(family)
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    here = bx.from_transformers(model, tokenizer)
    mask = tokenizer.mask_token
    one, other = (bert.fill_mask(f"paris is the {mask}.", top=5) for bert in (here, bx.load(folder, precision="fp32")))
    assert one.rows == other.rows and one.provenance["revision"].startswith("sha256:")
    assert "from_transformers(" in one.code()


def test_an_object_that_is_not_a_model_is_rejected() -> None:
    with pytest.raises(bx.ExplorerError, match="Got str and int; wanted a model and a tokenizer of transformers"):
        bx.from_transformers("bert", 3)


def test_sentence_vectors_are_the_mean_over_the_tokens(tiny: Tiny, bert: bx.Bert) -> None:
    texts = ["the cat sat on the mat.", "paris"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny("bert"))
    model = transformers.AutoModel.from_pretrained(tiny("bert")).eval()
    result = bert.encode(texts)
    for text, vector in zip(texts, result, strict=True):
        with torch.no_grad():
            state = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        np.testing.assert_allclose(vector, state.mean(dim=0).numpy(), atol=of_sum(32 * 3))
    assert result.shape == (2, 32) and bert.encode("paris").shape == (32,)
    first = bert.encode(texts, pooling="CLS", layer=0)
    assert first.shape == (2, 32) and not np.allclose(first, result)


def test_words_are_picked_by_name_or_by_span(bert: bx.Bert) -> None:
    text = "the cat sat on the mat."
    assert bert.fill_mask(text, mask="cat").text.hidden == (Span(0, 4, 7),)
    assert bert.fill_mask(text, mask="the").text.hidden == (Span(0, 0, 3), Span(0, 15, 18))
    assert bert.attention(text, pick=["cat", (0, 19, 22)]).text.picked == (Span(0, 4, 7), Span(0, 19, 22))
    assert bert.fill_mask(FRANCE, words=["city", "capital"]).options.words == "city, capital"
    assert (
        bert.word_path("a bank", word="bank", sentences=["the bank", "on a bank"]).options.sentences.count(" | ") == 1
    )


@pytest.mark.parametrize("text", ["___ is the capital of france.", "\u200b\u200bparis is the capital of france."])
def test_a_word_is_hidden_where_the_tokenizer_reads_it(bert: bx.Bert, text: str) -> None:
    """A blank becomes [MASK] and invisible characters are dropped, so all words after them move."""
    encoding = bert.checkpoint.tokenizer.encode(bert.fill_mask(text, mask="capital").text)
    columns = zip(encoding.tokens, encoding.original_ids, encoding.ids, strict=True)
    assert [token for token, was, now in columns if was != now] == ["capital"]


def test_a_text_beyond_the_limit_of_tokens_is_announced(bert: bx.Bert) -> None:
    with pytest.warns(UserWarning, match="2 texts are longer than the 64 tokens that are read, and cut"):
        bert.encode(["a film " * 40, "a film", "the river " * 50])


def test_lines_come_from_a_list_or_a_file(bert: bx.Bert, tmp_path: Path) -> None:
    texts = ["a great film", "the river", "a terrible movie"]
    (tmp_path / "lines.txt").write_text("\n".join(texts), "utf-8")
    one, other = bert.search("the film", lines=texts), bert.search("the film", lines=tmp_path / "lines.txt")
    assert one.rows == other.rows and len(one.rows) == 3


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda b: b.analyse("heads", "a"), "There is no analysis 'heads'; wanted one of forward_pass, "),
        (lambda b: b.fill_mask(FRANCE, tops=3), "Unknown setting tops; wanted top, words."),
        (lambda b: b.fill_mask(FRANCE, top=0), "^top: got 0; wanted a whole number from 1 to 100."),
        (lambda b: b.fill_mask("Paris."), "Put \\[MASK\\] where a word is missing, or name a word in mask=."),
        (lambda b: b.fill_mask(FRANCE, mask="Rome"), "'Rome' "),
        (lambda b: b.next_sentence("Paris."), "Give it as pair."),
        (lambda b: b.fill_mask(FRANCE, lines=["a"]), "fill_mask takes no lines"),
        (lambda b: b.search("a", lines="nowhere.txt"), "nowhere.txt cannot be read"),
        (lambda b: b.encode([]), "No texts were given"),
        (lambda b: b.encode([None]), r"^texts\[0\]: got None; wanted a string."),
        (lambda b: b.encode(None), "^texts: got None; wanted a list of strings."),
        (lambda b: b.encode(b"a cat"), "^texts: got b'a cat'; wanted a list of strings."),
        (lambda b: b.encode("a cat", layer="last"), "^layer: got 'last'; wanted a whole number"),
        (lambda b: b.tokenize(5), "^text: got 5; wanted a string."),
        (lambda b: b.fill_mask(5), "^text: got 5; wanted a string."),
        (lambda b: b.fill_mask(["a [MASK]"]), r"^text: got \['a \[MASK\]'\]; wanted a string. Ask once for each text."),
        (lambda b: b.fill_mask(b"a [MASK]"), r"^text: got b'a \[MASK\]'; wanted a string."),
        (lambda b: b.fill_mask(None), "^text: got None; wanted a string."),
        (lambda b: b.fill_mask(FRANCE, words={"a": 1}), "^words: got {'a': 1}; wanted text."),
        (lambda b: b.next_sentence("a", ["b"]), r"^pair: got \['b'\]; wanted a string."),
        (
            lambda b: b.attention("A river.", pick=(0, 5, 999)),
            r"^pick: got \(0, 5, 999\); wanted a word, a list of words",
        ),
        (lambda b: b.attention("A river.", pick=[(0, 5, 999)]), r"^pick: got \(0, 5, 999\), but the text has 8 char"),
        (lambda b: b.attention("A river.", pick=[(1, 0, 1)]), r"^pick: got \(1, 0, 1\), but the pair has 0 char"),
        (lambda b: b.attention("A river.", pick=[(0, 5, 2)]), r"^pick: got \(0, 5, 2\); wanted \(side, start, end\)"),
        (lambda b: b.attention("A river.", mask=[5]), r"^mask: got \[5\]; wanted a word, a list of words"),
        (lambda b: b.attention("A river.", mask=5), "^mask: got 5; wanted a word, a list of words"),
        (lambda b: b.search("a", lines=5), "^lines: got 5; wanted a list of strings."),
        (lambda b: b.search("a", lines=["a", None]), r"^lines\[1\]: got None; wanted a string."),
        (lambda b: b.suite(rows=5), "^rows: got 5; wanted a list of dictionaries."),
        (lambda b: b.suite(rows=["a"]), "^rows: got 'a'; wanted a list of dictionaries."),
        (lambda b: bx.compare("a", "b"), "^first: got 'a'; wanted a result, such as that of fill_mask."),
        (lambda b: bx.compare(b.fill_mask(FRANCE), 5), "^second: got 5; wanted a result"),
        (lambda b: b.fill_mask(FRANCE, words=["1,000", "ten"]), "'1,000' contains ',', which separates the items of w"),
        (lambda b: b.next_sentence("a", "b", candidates=["a | b"]), "'a | b' contains '|', which separates the items"),
        (lambda b: b.encode("a", pooling="sum"), "got 'sum'; wanted one of own, mean, CLS"),
        (lambda b: bx.load("no such name!"), "is not a checkpoint name"),
        (lambda b: bx.load("/no/such/folder"), "^There is no folder /no/such/folder; wanted the folder of a"),
        (lambda b: bx.load(Path("~/no-such-folder")), "^There is no folder ~/no-such-folder"),
        (lambda b: bx.load("no-such-folder/"), "^There is no folder no-such-folder/"),
        (lambda b: bx.load(__file__), "test_analyses.py is a file; wanted the folder"),
        (lambda b: bx.load(None), "^checkpoint: got None; wanted a name such as 'mini', a folder, or a Bert.$"),
        (lambda b: bx.fill_mask(FRANCE, checkpoint=5), "^checkpoint: got 5; wanted a name such as 'mini'"),
    ],
)
def test_bad_input_is_reported(bert: bx.Bert, ask: Callable[[bx.Bert], object], message: str) -> None:
    with pytest.raises(bx.ExplorerError, match=message):
        ask(bert)


def test_an_unknown_name_is_reported(bert: bx.Bert) -> None:
    with pytest.raises(AttributeError, match="bertexplorer has no 'fillmask'. It has Bert, "):
        bx.fillmask  # noqa: B018
    with pytest.raises(AttributeError, match="Bert has no 'fillmask'; the analyses are answer, "):
        bert.fillmask  # noqa: B018


def test_the_control_has_other_weights(bert: bx.Bert) -> None:
    random = bert.control()
    assert random.name.endswith(", random weights") and repr(bert).startswith("Bert(")
    assert random.fill_mask(FRANCE).rows != bert.fill_mask(FRANCE).rows
    assert random.fill_mask(FRANCE) == bert.control().fill_mask(FRANCE)


def test_unreadable_rows_of_a_file_are_named(bert: bx.Bert, tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text(f"good,bad\nthe cat,the cats\n{'x' * 20_000},b\na dog,a dogs\n", "utf-8")
    result = bert.suite(rows=file)
    assert len(result.value.outcomes) == 2 and "1 row could not be scored: line 3 " in result.said
