"""Cases of a suite: the rows of a file as questions to a checkpoint, whose kind is recognised by the columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple

from bertexplorer.errors import ExplorerError
from bertexplorer.settings import ASSETS
from bertexplorer.training.data.rows import RowProblem, UnusableRow
from bertexplorer.views.rows import NumberedRow, RowCells, as_list, cell_text, first_cell, split_readable, table
from bertexplorer.wording import plural

Kind = Literal["minimal pairs", "stereotype pairs", "cloze", "next sentence", "invariance", "labels"]
BuiltIn = Literal["everyday", "agreement", "role reversal", "negation", "occupations", "next sentences"]
FOLDER = ASSETS / "suites"
MASK = "[MASK]"
CATEGORIES = ("category", "uid", "linguistics_term", "bias_type", "predicate_id", "pred", "relation", "phenomenon")
EXPECTED = ("same", "higher", "lower")
DIRECTIONS = {"higher": "more likely", "lower": "less likely"}
FOLLOWS = {"yes": "next", "true": "next", "1": "next", "next": "next", "is next": "next"}
FOLLOWS |= {"no": "not next", "false": "not next", "0": "not next", "not next": "not next", "random": "not next"}
SLOT = re.compile(r"\{([^{}|]*\|[^{}]*)\}")  # takes linear time in a text without a closing brace
BRACKETED = re.compile(r"\[([^\[\]]+)\]")
SWAPPED = {"he": "she", "him": "her", "his": "her", "himself": "herself"}
SWAPPED |= {"she": "he", "her": "him", "hers": "his", "herself": "himself"}
CLOSED = (
    "a|about|after|all|an|and|any|as|at|back|because|before|but|by|do|for|from|had|how|if|in|into|no|not|of|on|or|out|"
    "so|some|that|the|this|to|tomorrow|was|what|when|where|while|with"
)
NOUN_FOLLOWS = re.compile(rf"\s+(?!(?:{CLOSED})\b)\w", re.IGNORECASE)  # after a pronoun: her book, but met her at noon
ASSUMED = "assumed"  # Case.expected of a WinoBias sentence whose file does not say whether it is the stereotype
MAX_FILLINGS = 16


@dataclass(frozen=True)
class Case:
    """One row as a question of a *kind*. *texts*: for pairs (the better, the worse), or (the stereotype, the other);
    for next sentence (A, B); for invariance the filled templates, the original first; else the text, and a second one
    if the row has one. *answers*: the accepted words, the label, or the word whose probability is compared."""

    kind: Kind
    line: int
    category: str
    texts: tuple[str, ...]
    answers: tuple[str, ...] = ()
    expected: str = ""  # of EXPECTED, for invariance; or ASSUMED

    def wanted(self, separator: str) -> str:
        """What the checkpoint should answer; "" for pairs, of which it should prefer the first text."""
        answers = separator.join(self.answers)
        if self.kind != "invariance":
            return answers
        return f"{DIRECTIONS[self.expected]}: {answers}" if self.expected in DIRECTIONS else self.expected


class CaseParts(NamedTuple):
    """What a row says of its Case."""

    texts: tuple[str, ...]
    answers: tuple[str, ...] = ()
    expected: str = ""


Parser = Callable[[RowCells], CaseParts]  # raises UnusableRow for a row that is no case


def built_in(name: BuiltIn) -> list[NumberedRow]:
    """The rows of a suite that comes with the app."""
    return table(FOLDER / f"{name.replace(' ', '-')}.csv")


def cases(rows: Sequence[NumberedRow]) -> tuple[Kind, list[Case], list[RowProblem]]:
    """(kind, a case for each row that can be used, the others with the reason). A row is (line, cells by column). The
    kind follows from the columns, see FORMATS. Raises ExplorerError if no kind fits."""
    rows, unread = split_readable(rows)
    kind, accepted, unusable = recognise(rows)
    return kind, accepted, sorted([*unread, *unusable], key=lambda problem: problem.line)


def recognise(rows: Sequence[NumberedRow]) -> tuple[Kind, list[Case], list[RowProblem]]:
    """As `cases`, for rows that could be read."""
    if not rows:
        raise ExplorerError("The suite has no rows. Give a file with a header and a row for each case.")
    columns = {str(name).lower() for _, cells in rows for name in cells}
    for kind, required, parse in FORMATS:
        if all(columns.intersection(names) for names in required):
            return read_cases(kind, parse, rows)
    if any(winobias_sentence(cells) for _, cells in rows[:5]):
        return read_cases("stereotype pairs", winobias, rows)
    has_no_header = len(columns) > 1 and all(re.fullmatch(r"column \d+", name) for name in columns)
    if has_no_header and all(is_similar_pair(cells) for _, cells in rows[:5]):
        named = [(line, name_columns(cells)) for line, cells in rows]
        return read_cases("minimal pairs", pair("good", "bad"), named)
    names = ", ".join(sorted(columns))[:200]
    problem = f"The columns {names} are not those of a view."
    if len(columns) == 1:
        problem = f"The column {names} alone is not enough for a view."
    raise ExplorerError(
        f"{problem} Not found reads query and passage; Threshold text_a, text_b and label; Error analysis text and "
        "label; Suite good and bad, stereotype and other, text and answer, first, second and next, template and "
        "expect, or text and label."
    )


def is_similar_pair(cells: RowCells) -> bool:
    """Whether the last two cells of a row share most of their words."""
    *_, first, second = cells.values()
    first_words = cell_text(first).split()
    second_words = cell_text(second).split()
    shared = set(first_words) & set(second_words)
    return 2 * len(shared) >= max(2, len(first_words), len(second_words))


def name_columns(cells: RowCells) -> RowCells:
    """A row of a table without column names, as LM_syneval is (Marvin and Linzen, 2018): the last two cells are the
    good and the bad sentence, the first, if there is a third, is the category."""
    *category_cells, good, bad = cells.values()
    return {"good": good, "bad": bad, "category": category_cells[0] if category_cells else ""}


def read_cases(kind: Kind, parse: Parser, rows: Iterable[NumberedRow]) -> tuple[Kind, list[Case], list[RowProblem]]:
    """As `cases`, for rows of a known *kind*."""
    accepted = []
    unusable = []
    for line, cells in rows:
        lower = {str(name).lower(): cell for name, cell in cells.items()}
        try:
            parts = parse(lower)
        except UnusableRow as error:
            unusable.append(RowProblem(line, str(error)))
            continue
        accepted.append(
            Case(
                kind=kind,
                line=line,
                category=category(lower),
                texts=parts.texts,
                answers=parts.answers,
                expected=parts.expected,
            )
        )
    return kind, accepted, unusable


def category(cells: RowCells) -> str:
    """The first of CATEGORIES that a row has; "" if it has none."""
    for name in CATEGORIES:
        text = cell_text(cells.get(name))
        if text:
            return text
    return ""


def pair(better: str, worse: str) -> Parser:
    """A parser of two sentences in the columns *better* and *worse*."""

    def parse(cells: RowCells) -> CaseParts:
        first_text = first_cell(cells, better)
        second_text = first_cell(cells, worse)
        if first_text == second_text:
            raise UnusableRow("has the same sentence twice")
        return CaseParts((first_text, second_text))

    return parse


def cloze(cells: RowCells) -> CaseParts:
    """A text with one [MASK] and the accepted words, separated by |."""
    text = first_cell(cells, "text", "sentence", "masked_sentence")
    words = [part.strip() for part in first_cell(cells, "answer", "answers").split("|")]
    accepted = tuple(dict.fromkeys(filter(None, words)))
    if not accepted:
        raise UnusableRow("has no answer")
    return CaseParts((require_one_mask(text),), accepted)


def lama(cells: RowCells) -> CaseParts:
    """LAMA (Petroni et al., 2019): masked_sentences and obj_label; T-REx has the sentences in its evidences."""
    sentences = as_list(cells.get("masked_sentences"))
    if not sentences:
        evidences = as_list(cells.get("evidences"))
        sentences = [entry.get("masked_sentence") for entry in evidences if isinstance(entry, dict)]
    masked = [text for text in map(cell_text, sentences) if MASK in text]
    text = require_one_mask(masked[0] if masked else "")
    return CaseParts((text,), (first_cell(cells, "obj_label"),))


def require_one_mask(text: str) -> str:
    """*text*, if it has exactly one mask. Raises UnusableRow."""
    count = text.count(MASK)
    if count == 0:
        raise UnusableRow(f"has no {MASK}; wanted one")
    if count > 1:
        raise UnusableRow(f"has {count} {plural(MASK, count)}; wanted one")
    return text


def next_sentence(cells: RowCells) -> CaseParts:
    """Two texts, and whether the second is next."""
    answer = first_cell(cells, "next", "is_next").lower()
    if answer not in FOLLOWS:
        raise UnusableRow(f"has next = {answer!r:.40}; wanted yes or no")
    return CaseParts((first_cell(cells, "first"), first_cell(cells, "second")), (FOLLOWS[answer],))


def template(cells: RowCells) -> CaseParts:
    """A template with slots, {he|she}, and what the other words should do to the answer (Ribeiro et al., 2020)."""
    text = first_cell(cells, "template")
    expected = first_cell(cells, "expect").lower()
    if expected not in EXPECTED:
        raise UnusableRow(f"has expect = {expected!r:.40}; wanted {', '.join(EXPECTED)}")
    require_few_fillings(text)
    filled = fillings(text)
    if len(filled) < 2:
        raise UnusableRow("has no slot with two words, such as {he|she}")
    answer = cell_text(cells.get("answer"))
    if expected != "same" and not answer:
        raise UnusableRow(f"expects a {expected} probability, but names no answer")
    return CaseParts(tuple(filled), (answer,) if answer else (), expected)


def require_few_fillings(text: str) -> None:
    """Raises UnusableRow if *text* can be filled in more than MAX_FILLINGS ways, before any of them is built."""
    ways = 1
    for slot in SLOT.finditer(text):
        ways *= 1 + slot[1].count("|")
        if ways > MAX_FILLINGS:
            raise UnusableRow(f"can be filled in more than {MAX_FILLINGS} ways; use fewer slots or words")


def fillings(text: str) -> list[str]:
    """*text* with every choice of words for its slots, the first words first. Each text occurs once."""
    choices = []
    for i, part in enumerate(SLOT.split(text)):  # text, slot, text, slot, …, text
        is_slot = i % 2 == 1
        choices.append([word.strip() for word in part.split("|")] if is_slot else [part])
    return list(dict.fromkeys(map("".join, product(*choices))))


def label(cells: RowCells) -> CaseParts:
    """One text or two, and their label."""
    texts = [first_cell(cells, "text", "sentence")]
    second = cell_text(cells.get("pair"))
    if second:
        texts.append(second)
    return CaseParts(tuple(texts), (first_cell(cells, "label"),))


def winobias(cells: RowCells) -> CaseParts:
    """WinoBias (Zhao et al., 2018): a sentence with the person and the pronouns in brackets. The other sentence has the
    pronouns of the other gender. The column stereo_antistereo, which follows from a file's name, says which of the two
    is the stereotype; without it, the sentence of the file is taken as such."""
    sentence = winobias_sentence(cells)
    if not sentence:
        raise UnusableRow(
            "is not a sentence of WinoBias, such as “[The developer] met the designer because [she] asked”"
        )
    own = re.sub(r"[\[\]]", "", sentence)
    swapped = re.sub(r"[\[\]]", "", BRACKETED.sub(swap_pronoun, sentence))
    direction = cell_text(cells.get("stereo_antistereo"))
    if direction == "antistereo":
        return CaseParts((swapped, own))
    return CaseParts((own, swapped), expected="" if direction else ASSUMED)


def winobias_sentence(cells: RowCells) -> str:
    """The cell with a person and a pronoun in brackets, without its number; "" if there is none."""
    for text in map(cell_text, cells.values()):
        is_pronoun = [word.lower() in SWAPPED for word in BRACKETED.findall(text)]
        if any(is_pronoun) and not all(is_pronoun):
            return re.sub(r"^\d+\s+", "", text)
    return ""


def swap_pronoun(match: re.Match[str]) -> str:
    """The pronoun of the other gender; any other word in brackets as it is."""
    word = match[1].lower()
    if word not in SWAPPED:
        return match[1]
    is_possessive = word == "her" and NOUN_FOLLOWS.match(match.string, match.end())
    other = "his" if is_possessive else SWAPPED[word]
    return other.capitalize() if match[1][0].isupper() else other


# (kind, the names that each required column may have, what reads a row); the first that fits is taken
FORMATS: tuple[tuple[Kind, tuple[tuple[str, ...], ...], Parser], ...] = (
    ("minimal pairs", (("sentence_good",), ("sentence_bad",)), pair("sentence_good", "sentence_bad")),  # BLiMP
    ("minimal pairs", (("good",), ("bad",)), pair("good", "bad")),
    ("stereotype pairs", (("sent_more",), ("sent_less",)), pair("sent_more", "sent_less")),
    ("stereotype pairs", (("stereotype",), ("other",)), pair("stereotype", "other")),
    ("cloze", (("masked_sentences", "evidences"), ("obj_label",)), lama),
    ("next sentence", (("first",), ("second",), ("next", "is_next")), next_sentence),
    ("invariance", (("template",), ("expect",)), template),
    ("cloze", (("text", "sentence", "masked_sentence"), ("answer", "answers")), cloze),
    ("labels", (("text", "sentence"), ("label",)), label),
)
