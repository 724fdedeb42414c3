"""A hundred everyday sentences with a hidden word: the share of answers that a person would accept.

They were written for this project before any of its pretraining, and are never trained on.
Run `python -m bench.cloze FOLDER …` (checkpoints; default: the bundled one)."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bertexplorer.model.load import load
from bertexplorer.views.fill_mask import compute as fill_mask

SENTENCES = Path(__file__).with_name("cloze.tsv")
BUNDLED = Path(__file__).parents[1] / "assets" / "checkpoints" / "mini"


@dataclass(frozen=True)
class Cloze:
    """One sentence with [MASK], and the accepted words."""

    text: str
    accepted: frozenset[str]


def read(path: Path = SENTENCES) -> list[Cloze]:
    lines = [line.split("\t") for line in path.read_text("utf-8").splitlines()]
    return [Cloze(text, frozenset(words.split())) for text, words in lines]


def hits(folder: Path, cloze: Sequence[Cloze]) -> tuple[float, float, list[tuple[str, list[str]]]]:
    """(share with an accepted first answer, share with an accepted word among the first five, sentences missed by all
    five with their answers), in fp32."""
    checkpoint = load(folder, precision="fp32")
    top = five = 0
    missed = []
    for item in cloze:
        result = fill_mask.run(checkpoint, item.text, options=fill_mask.Options(top=5)).blanks[0].candidates
        words = [candidate.token for candidate in result[:5]]
        top += words[0] in item.accepted
        five += bool(item.accepted & set(words))
        if not item.accepted & set(words):
            missed.append((item.text, words))
    return top / len(cloze), five / len(cloze), missed


def main(folders: Sequence[str]) -> int:
    cloze = read()
    for folder in folders or [str(BUNDLED)]:
        first, among, missed = hits(Path(folder), cloze)
        print(f"{folder}: accepted on top {first:.2f}, among five {among:.2f}, of {len(cloze)} sentences")
        for text, words in missed:
            print(f"  {text}  {', '.join(words)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
