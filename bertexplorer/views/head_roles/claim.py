"""A claim about a head, measured: does it look from one marked word to the other, in sentences that a person wrote?

The measure is that of `head_relations`: the word that looks must give the other one more than any other word. If no
head is named, the one that is best on every second sentence is measured on the others, as a head that was picked on the
sentences that judge it looks better than it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bertexplorer.answers.heads import Head, parse_heads
from bertexplorer.engine import progress
from bertexplorer.errors import ExplorerError
from bertexplorer.training.finetuning.compare import wilson
from bertexplorer.views.head_roles.head_relations import FARTHEST, Read, is_right, read
from bertexplorer.views.head_roles.sample_relations import RelatedSentence
from bertexplorer.wording import counted

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

FEWEST, MOST = 4, 200  # sentences
MARK = re.compile(r"\[([^\[\]{}]*)\]|\{([^\[\]{}]*)\}")
PART = re.compile(r"\w+|[^\w\s]")  # a word, or a sign
CLAIM = "claim"  # the name of the relation
EXAMPLE = "The {animal} slept because [it] was tired."
OBJECTS = """The cat {chased} a [mouse].
My sister {wrote} a very long [letter].
They {built} [houses].
The old farmer {sold} his last brown [horse].
She {opened} the [window].
Our teacher {read} us an interesting [story].
The boys {found} two old silver [coins].
He {drank} [water].
The dog {ate} the whole birthday [cake].
We {watched} [films] all evening.
The king {lost} his golden [crown].
A thief {stole} the red and white [car].
I {know} the [answer].
She {painted} the kitchen [door] green.
The children {love} [ice].
Somebody {broke} a big blue [vase].
My uncle {grows} [tomatoes].
The nurse {washed} her [hands].
He {bought} five kilos of [apples].
The storm {destroyed} many old [trees]."""  # without others: does a head look from the object to its verb?


@dataclass(frozen=True)
class MarkedSentence:
    """A sentence that was measured, and where the head looks in it."""

    text: str  # its words with a space between them
    start: int  # the word that looks, 0-based
    end: int  # the word that it should look at
    looked: int  # the word that it gives most

    @property
    def words(self) -> list[str]:
        return self.text.split(" ")

    @property
    def right(self) -> bool:
        return self.looked == self.end


@dataclass(frozen=True)
class Claim:
    """A head on marked sentences. Shares are 0 to 1."""

    head: Head
    picked_on: int  # sentences on which the head was picked; 0 if a person named it
    sentences: tuple[MarkedSentence, ...]  # those that judge it
    interval: tuple[float, float]  # 95 %, of the share in which it is right
    distance: int  # the best fixed distance, in words; negative: to the left
    by_distance: float  # the share that this distance finds
    by_chance: float  # the mean share of all heads
    as_good: int  # other heads that are right as often

    @property
    def right(self) -> int:
        """Sentences in which the head looks at the marked word."""
        return sum(sentence.right for sentence in self.sentences)

    @property
    def share(self) -> float:
        return self.right / len(self.sentences)

    @property
    def holds(self) -> bool:
        """Whether the interval lies above what the best fixed distance and heads at random reach."""
        return self.interval[0] > max(self.by_distance, self.by_chance)


def measure_claim(checkpoint: Checkpoint, typed: str, head: str) -> Claim:
    """The claim that *head*, such as "4·3", looks from the word in [brackets] to that in {braces}, in each line of
    *typed*, or of OBJECTS if it is empty; "": the head that does so best. Raises ExplorerError for lines without these
    marks, for fewer than FEWEST and more than MOST, and for a head that does not exist."""
    config = checkpoint.config
    named = parse_heads(head, config.num_layers, config.num_heads)
    if len(named) > 1:
        raise ExplorerError(f"Head: got {head!r:.60}; a claim is about one head. Name one, such as 4·3.")
    marked = parse_sentences(typed if typed.strip() else OBJECTS)
    reads = read_marked(checkpoint, marked)
    ends = [sentence.pairs[CLAIM][0] for _, sentence in marked]
    right_by_sentence = []
    for attention, (start, end) in zip(reads, ends, strict=True):
        right_by_sentence.append(is_right(attention, start, end, all_tokens=False))
    right = np.stack(right_by_sentence)
    # 1. What the head is picked on, and what judges it.
    every = list(range(len(reads)))
    finding, judging = (every, every) if named else (every[::2], every[1::2])
    # 2. The head, and the best fixed distance, which has the same chance to be picked.
    if named:
        layer, number = named[0]
    else:
        means = right[finding].mean(axis=0)
        layer, number = (int(i) for i in np.unravel_index(int(means.argmax()), means.shape))
    steps = [end - start for start, end in ends]
    distances = [step for step in range(-FARTHEST, FARTHEST + 1) if step]
    distance = max(distances, key=lambda step: sum(steps[i] == step for i in finding))
    # 3. How often each is right.
    shares = right[judging].mean(axis=0)
    sentences = []
    for i in judging:
        start, end = ends[i]
        looked = looked_at(reads[i], layer, number, start)
        sentences.append(MarkedSentence(reads[i].sentence.text, start=start, end=end, looked=looked))
    own = float(shares[layer, number])
    low, high = wilson(own, len(judging))
    return Claim(
        head=Head(layer, number),
        picked_on=0 if named else len(finding),
        sentences=tuple(sentences),
        interval=(round(low, 9), round(high, 9)),  # of all that are right, the end is 1
        distance=distance,
        by_distance=float(np.mean([steps[i] == distance for i in judging])),
        by_chance=float(shares.mean()),
        as_good=int((shares >= own).sum()) - 1,
    )


def parse_sentences(typed: str) -> list[tuple[int, RelatedSentence]]:
    """(line, sentence) for each line of *typed*; lines count from 1. Raises ExplorerError for fewer than FEWEST
    sentences, for more than MOST, and as `parse`."""
    lines = [(number, line.strip()) for number, line in enumerate(typed.splitlines(), 1) if line.strip()]
    if not FEWEST <= len(lines) <= MOST:
        raise ExplorerError(
            f"Given: {counted(len(lines), 'sentence')}; wanted {FEWEST} to {MOST}, one a line, with the word that "
            f"looks in brackets and the word that it looks at in braces, such as: {EXAMPLE}"
        )
    return [(number, parse(line, number)) for number, line in lines]


def parse(line: str, number: int) -> RelatedSentence:
    """A sentence with its two marked words, whose words and signs are set apart. Raises ExplorerError unless one word
    is in brackets and one in braces."""
    words: list[str] = []
    looking: list[int] = []  # the words in brackets
    looked_at: list[int] = []  # those in braces
    copied = 0  # characters of the line that are in the words
    for mark in MARK.finditer(line):
        in_brackets, in_braces = mark[1], mark[2]
        words += PART.findall(line[copied : mark.start()])
        marked_words = PART.findall(in_brackets or in_braces or "")
        if len(marked_words) == 1:
            positions = looking if in_brackets else looked_at
            positions.append(len(words))
        words += marked_words
        copied = mark.end()
    words += PART.findall(line[copied:])
    if len(looking) != 1 or len(looked_at) != 1:
        raise ExplorerError(
            f"Line {number} is {line!r:.60}; wanted one word in brackets, which looks, and one in braces, such as: "
            f"{EXAMPLE}"
        )
    return RelatedSentence(" ".join(words), {CLAIM: ((looking[0], looked_at[0]),)})


def read_marked(checkpoint: Checkpoint, marked: Sequence[tuple[int, RelatedSentence]]) -> list[Read]:
    """The attention in each sentence. *marked*: (line, sentence). Reports its progress. Raises ExplorerError for a
    sentence whose words the checkpoint does not read as they are typed."""
    reads = []
    for done, (number, sentence) in enumerate(marked):
        progress.report(done, len(marked))
        encoding = checkpoint.tokenizer.encode(sentence.text)
        words_read = {word for word in encoding.words if word is not None}
        if words_read != set(range(len(sentence.text.split(" ")))):
            raise ExplorerError(
                f"Line {number} cannot be read word by word by {checkpoint.name}: it is too long, or has signs that "
                "the checkpoint lacks. Change it."
            )
        reads.append(read(checkpoint, sentence, encoding))
    return reads


def looked_at(attention: Read, layer: int, head: int, start: int) -> int:
    """The word that gets most from the word *start*, itself left out."""
    row: Float[np.ndarray, " w"] = attention.words[layer, head, start].copy()
    row[start] = -1.0
    return int(row.argmax())


def claim_rows(claim: Claim) -> list[dict[str, object]]:
    """A row for each sentence that judges the claim."""
    return [
        {
            "text": sentence.text,
            "from": sentence.words[sentence.start],
            "to": sentence.words[sentence.end],
            "looks_at": sentence.words[sentence.looked],
            "right": sentence.right,
        }
        for sentence in claim.sentences
    ]
