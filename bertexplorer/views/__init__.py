"""The views, a module each: question, note and examples, and the figure and the sentence of its analysis."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import NamedTuple

from bertexplorer.analysis import NAMES
from bertexplorer.views.view import View


class Door(NamedTuple):
    """What many people come for: what it is *about*, in a few words, and the *views* that answer it, the first of which
    it opens."""

    about: str
    views: tuple[str, ...]


DOORS = {
    "Hide a word": Door(
        "and see what BERT would put there", ("fill-mask", "decoding", "pseudo-likelihood", "contrast")
    ),
    "Who looks at whom": Door("attention, head by head", ("attention", "forward-pass", "bertviz")),
    "Compare meanings": Door(
        "of a word in two sentences, of two texts", ("word-in-context", "sentence-similarity", "embedding-map")
    ),
}


class Views(Mapping[str, View]):
    """Slug -> view, in the order of the page. A view's module is imported when it is asked for."""

    def __getitem__(self, slug: str) -> View:
        name = str(slug).replace("-", "_")
        if name not in NAMES or "_" in slug:  # a slug has hyphens
            raise KeyError(slug)
        view: View = import_module(f"{__name__}.{name}").VIEW
        return view

    def __iter__(self) -> Iterator[str]:
        return (name.replace("_", "-") for name in NAMES)

    def __len__(self) -> int:
        return len(NAMES)


VIEWS = Views()
