"""The views, a folder each: compute.py computes, show.py shows, browser.js computes in a visitor's browser.

A folder that lies here is a view. Nothing else lists it."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from bertexplorer.errors import ExplorerError
from bertexplorer.views.view import View

TOPICS = (  # in the order of the page; another topic follows them
    "The model",
    "Fill-mask",
    "Sentences",
    "Input",
    "Attention",
    "Embeddings",
    "Layers",
    "Fine-tuned",
    "Saliency",
    "Pretraining",
    "Behaviour",
)


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
    """Slug -> view, in the order of the page. A view is imported when it is asked for; the order needs all of them."""

    @cached_property
    def folders(self) -> frozenset[str]:
        """The names of the views: of the folders that have a show.py. Nothing is imported for them."""
        return frozenset(file.parent.name for file in Path(__file__).parent.glob("*/show.py"))

    def __getitem__(self, slug: str) -> View:
        name = str(slug).replace("-", "_")
        if name not in self.folders or "_" in slug:  # a slug has hyphens
            raise KeyError(slug)
        view: View = import_module(f"{__name__}.{name}.show").VIEW
        return view

    @cached_property
    def order(self) -> tuple[str, ...]:
        views = [self[name.replace("_", "-")] for name in self.folders]
        return tuple(view.slug for view in sorted(views, key=place))

    def __iter__(self) -> Iterator[str]:
        return iter(self.order)

    def __len__(self) -> int:
        return len(self.folders)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the analyses, in the order of the page."""
        return tuple(slug.replace("-", "_") for slug in self)


def place(view: View) -> tuple[int, str, int, str]:
    """Where a view stands on the page: topics in their order, and each topic's views by their *place*."""
    topic = TOPICS.index(view.topic) if view.topic in TOPICS else len(TOPICS)
    return topic, view.topic, view.place, view.name


VIEWS = Views()


def view_of(analysis: str) -> View:
    """The view of an analysis, such as "fill_mask". Raises ExplorerError if there is no such analysis."""
    if analysis not in VIEWS.folders:
        raise ExplorerError(f"There is no analysis {analysis!r:.60}; wanted one of {', '.join(VIEWS.names)}.")
    return VIEWS[analysis.replace("_", "-")]
