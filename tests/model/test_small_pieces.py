"""A text in a language that the vocabulary lacks is announced; English, names and languages that it has are not."""

import lzma
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer as Backend, models, normalizers, pre_tokenizers, processors, trainers

import bertexplorer as bx
from bertexplorer.answers.sample_sentences import TOPICS
from bertexplorer.cli import main as cli
from bertexplorer.core.ask import Answerer, opening
from bertexplorer.learn.catalogue import LessonCatalogue
from bertexplorer.model.checkpoint import read_language
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text, Tokenizer
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.views import VIEWS
from tests.conftest import BUNDLED, Tiny
from tests.languages import LANGUAGES

CORPORA = Path(__file__).parents[3] / "shared" / "corpora"
PIECES_SAID = "Much of this text is read in pieces of one to three letters."
LANGUAGE_SAID = "This checkpoint was trained on English; in another language, its answers mean little."


@pytest.fixture(scope="module")
def mini() -> Tokenizer:
    return load(BUNDLED, precision="fp32").tokenizer


def note(tokenizer: Tokenizer, text: str | Text) -> str:
    """What is said of the language of *text*; "" if nothing is."""
    return " ".join(one for one in tokenizer.encode(text).notes if one.startswith("Much of"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_text_in_another_language_is_announced(mini: Tokenizer, language: str) -> None:
    """Every paragraph, and four of five sentences; a sentence of few words may be one of names."""
    lines = LANGUAGES[language]
    assert note(mini, (" " if language not in ("Chinese", "Japanese") else "").join(lines))
    assert sum(bool(note(mini, line)) for line in lines) >= 0.8 * len(lines)


def test_the_sentence_says_what_happens(mini: Tokenizer) -> None:
    german, arabic = LANGUAGES["German"], LANGUAGES["Arabic"]
    assert note(mini, " ".join(german)) == f"{PIECES_SAID} {LANGUAGE_SAID}"
    chinese = "".join(LANGUAGES["Chinese"])
    assert note(mini, chinese) == f"Much of this text is read as [UNK]. {LANGUAGE_SAID}"
    first = Text("The weather is nice today.", arabic[0])
    assert note(mini, first).startswith("Much of the second text is read")
    assert note(mini, Text(german[9], "That is all.")).startswith("Much of the first text is read")
    assert note(mini, Text(german[9], arabic[0])).startswith("Much of both texts is read")


def test_a_hidden_word_does_not_change_it(mini: Tokenizer) -> None:
    text = LANGUAGES["Finnish"][3]
    spans = mini.encode(text).spans
    assert note(mini, Text(text, hidden=tuple(span for span in spans if span))) == note(mini, text) != ""


def test_a_checkpoint_whose_card_names_no_language(mini: Tokenizer) -> None:
    other = Tokenizer(mini.backend, max_tokens=512)
    assert note(other, LANGUAGES["German"][3]) == (
        f"{PIECES_SAID} The vocabulary of this checkpoint has few of these words, so its answers here mean little."
    )


@pytest.mark.parametrize(
    "text",
    [
        "Krisztián Nyakas, György Csoknyai and Imre Holubecz",
        "Dostoevsky, Tchaikovsky and Solzhenitsyn met in Nizhny Novgorod.",
        "Zizo, Lele, Sisa and Ayanda",
        "floccinaucinihilipilification",
        "She was antidisestablishmentarian.",
        "Hello!",
        "12 345 678, 9 %",
        "[MASK] [MASK] [MASK]",
        "I am in it, so we do it as he is: to be or no to go by us.",
    ],
)
def test_names_a_rare_word_and_short_words_are_not(mini: Tokenizer, text: str) -> None:
    assert not note(mini, text)


def test_no_example_lesson_or_sample_sentence_is(mini: Tokenizer) -> None:
    """Whoever opens a view must not be told that English is another language."""
    texts = [sentence for group in TOPICS.values() for sentence in group]
    for view in VIEWS.values():
        for example in view.examples:
            texts += [example.text, example.pair]
    catalogue = LessonCatalogue.of(Settings())
    for file in catalogue.files.values():
        texts += re.split(r"\n\s*\n", file.read_text("utf-8"))
    texts = [text for text in texts if text.strip() and "|--" not in text]
    assert len(texts) > 500
    assert [text for text in texts if note(mini, text)] == []


@pytest.mark.shared
@pytest.mark.parametrize("name", ["books_classic_sample", "kids_fairytaleqa", "onestop_english", "openstax_ccby"])
def test_hardly_any_english_sentence_is(mini: Tokenizer, name: str) -> None:
    """At most one of 200, most of them quotations in other languages or terms of anatomy."""
    sentences: list[str] = []
    with lzma.open(CORPORA / f"{name}.txt.xz", "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            sentences += [part for part in re.split(r"(?<=[.!?]) ", line.strip()) if len(part) > 20]
            if number > 20_000:
                break
    sample = random.Random(0).sample(sentences, 1000)
    assert sum(bool(note(mini, sentence[:2000])) for sentence in sample) <= 5


# Other kinds of tokenizers: each learns its pieces from the sentences, so that it has these languages.

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def framed(backend: Backend) -> Tokenizer:
    backend.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL])
    ids = [(token, backend.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    backend.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B [SEP]", ids)
    return Tokenizer(backend, max_tokens=512)


def wordpiece(lines: list[str], size: int = 4000) -> Tokenizer:
    backend = Backend(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=False)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.train_from_iterator(lines * 3, trainers.WordPieceTrainer(vocab_size=size, special_tokens=list(SPECIAL)))
    return framed(backend)


def unigram(lines: list[str]) -> Tokenizer:
    backend = Backend(models.Unigram())
    backend.normalizer = normalizers.NFKC()
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=3000, special_tokens=list(SPECIAL), unk_token="[UNK]")
    backend.train_from_iterator(lines * 3, trainer)
    return framed(backend)


def whole_words(lines: list[str]) -> Tokenizer:
    """A unigram of the words of *lines* and the letters that are in them."""
    words = sorted({f"▁{word}" for line in lines for word in re.findall(r"\w+|[^\w\s]", line)})
    letters = sorted({letter for word in words for letter in word})
    backend = Backend(models.Unigram([("[UNK]", 0.0), *((w, -5.0) for w in words), *((x, -9.0) for x in letters)], 0))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    return framed(backend)


def byte_level(lines: list[str]) -> Tokenizer:
    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    trainer = trainers.BpeTrainer(
        vocab_size=5000,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(lines * 3, trainer)
    return framed(backend)


EVERY_LINE = [line for lines in LANGUAGES.values() for line in lines]
SPACED = [line for language, lines in LANGUAGES.items() if language not in ("Chinese", "Japanese") for line in lines]


@pytest.mark.parametrize(
    ("kind", "lines"), [(wordpiece, SPACED), (unigram, EVERY_LINE), (byte_level, EVERY_LINE)], ids=lambda kind: ""
)
def test_a_vocabulary_that_has_the_language_is_silent(kind, lines: list[str]) -> None:  # type: ignore[no-untyped-def]
    tokenizer = kind(lines)
    assert [line for line in lines if note(tokenizer, line)] == []


def test_one_character_a_piece_by_design_is_silent() -> None:
    """Multilingual BERT reads Chinese so, and there are checkpoints that read every language so."""
    multilingual = wordpiece(EVERY_LINE)
    assert [line for line in LANGUAGES["Chinese"] if note(multilingual, line)] == []
    characters = wordpiece(EVERY_LINE, size=5)  # nothing but the alphabet
    assert max(map(len, characters.backend.get_vocab())) <= len("[MASK]")
    assert [line for line in EVERY_LINE if note(characters, line)] == []


def test_a_toy_is_silent(tiny: Tiny) -> None:
    """With a hundred pieces, nearly every word falls into letters."""
    tokenizer = load(tiny("bert"), precision="fp32").tokenizer
    assert note(tokenizer, "The old farmer quietly mended broken fences.") == ""


@pytest.mark.parametrize("kind", [whole_words, byte_level], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("language", ["Russian", "Greek", "Arabic", "Hindi", "Chinese", "Turkish"])
def test_another_script_is_announced_by_every_kind(kind, language: str) -> None:  # type: ignore[no-untyped-def]
    """A Greek letter is two pieces in bytes, and counts once."""
    english = [sentence for group in TOPICS.values() for sentence in group]
    tokenizer = kind(english)
    assert [line for line in english if note(tokenizer, line)] == []
    assert note(tokenizer, "".join(LANGUAGES[language]) if language == "Chinese" else " ".join(LANGUAGES[language]))


@pytest.mark.parametrize(
    ("card", "language"),
    [
        ("---\nlicense: mit\nlanguage: en\n---\n# A", "English"),
        ("---\nlanguage:\n- en\nlicense: mit\n---\n", "English"),
        ("---\nlanguage: [de]\n---\n", "German"),
        ('---\nlanguage: "fr"\n---\n', "French"),
        ("---\nlanguage:\n  - en\n  - de\n---\n", ""),
        ("---\nlanguage: multilingual\n---\n", ""),
        ("---\nlanguage: xx\n---\n", ""),
        ("# A card\nlanguage: en is spoken here\n", ""),
        ("", ""),
    ],
)
def test_the_language_is_that_of_the_card(tmp_path: Path, card: str, language: str) -> None:
    (tmp_path / "README.md").write_text(card, "utf-8")
    assert read_language(tmp_path) == language


def test_a_step_of_a_training_has_the_card_of_the_training(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("---\nlanguage: en\n---\n", "utf-8")
    (tmp_path / "step-000000010").mkdir()
    (tmp_path / "another").mkdir()
    assert read_language(tmp_path / "step-000000010") == "English"
    assert read_language(tmp_path / "another") == ""


def test_python_the_command_line_and_the_page_say_it(capsys: pytest.CaptureFixture[str]) -> None:
    text = LANGUAGES["German"][3]
    said = f"{PIECES_SAID} {LANGUAGE_SAID}"
    assert said in bx.tokenization(text, checkpoint="mini").notes
    assert cli(["tokenization", text, "--checkpoint", "mini"]) == 0
    assert f"note: {said}" in capsys.readouterr().err
    answerer = Answerer(CheckpointRegistry(Settings(precision="fp32")))
    answer = answerer.answer(replace(opening(answerer.registry.settings), text=text))
    assert said in answer.strip["notes"]


def test_an_unknown_word_of_a_unigram_is_named_and_can_be_hidden() -> None:
    """The library gives the characters in place of the token, so that XLM-R and ALBERT said nothing."""
    tokenizer = whole_words(["the cat sat on the mat"])
    encoding = tokenizer.encode("the кот sat")
    assert "Not in the vocabulary, read as [UNK]: кот." in encoding.notes
    place = encoding.tokens.index("[UNK]")
    assert tokenizer.encode(Text("the кот sat", hidden=(Span(0, 4, 7),))).ids[place] == tokenizer.mask
