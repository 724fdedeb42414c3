"""The views, a folder each: compute.py computes, show.py shows, browser.js computes in a visitor's browser.

A folder that lies here is a view. Nothing else lists it. Installed packages can bring further ones (plugins.py)."""

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from bertexplorer.errors import ExplorerError
from bertexplorer.settings import parse_plugins
from bertexplorer.views import plugins
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
    "Hide a word": Door("see what BERT puts there", ("fill-mask", "decoding", "pseudo-likelihood", "contrast")),
    "Who looks at whom": Door("attention, head by head", ("attention", "forward-pass", "bertviz")),
    "Compare meanings": Door("of words, of two texts", ("word-in-context", "sentence-similarity", "embedding-map")),
}


class Views(Mapping[str, View]):
    """Slug -> view, in the order of the page: the folders that lie here, and those of other packages that are on. A
    view is imported when it is asked for; the order needs all of them. The entry points of other packages are read
    when the order is asked for, or a view that does not lie here."""

    @cached_property
    def folders(self) -> frozenset[str]:
        """The names of our own views: of the folders that have a show.py. Nothing is imported for them."""
        return frozenset(file.parent.name for file in Path(__file__).parent.glob("*/show.py"))

    @cached_property
    def chosen(self) -> frozenset[str] | None:
        """The names of other packages' views that are on; None: all that are installed."""
        names = parse_plugins(os.environ.get("BERTEXPLORER_PLUGINS"))
        return None if names is None else frozenset(names)

    def choose(self, names: Iterable[str]) -> None:
        """Turn on the views of other packages that are called *names*, and turn off all others."""
        self.chosen = frozenset(names)
        vars(self).pop("order", None)

    def find(self, name: str) -> View | None:
        """The view of the analysis *name*, such as "fill_mask"; None if there is none."""
        if name in self.folders:
            view: View = import_module(f"{__name__}.{name}.show").VIEW
            return view
        return plugins.load(name) if self.chosen is None or name in self.chosen else None

    def __getitem__(self, slug: str) -> View:
        view = None
        if "_" not in str(slug):  # a slug has hyphens
            view = self.find(str(slug).replace("-", "_"))
        if view is None:
            raise KeyError(slug)
        return view

    @property
    def brought(self) -> tuple[View, ...]:
        """The views of other packages that are on. They are imported for it."""
        if self.chosen == frozenset():  # then the entry points need not be read
            return ()
        views = [self.find(name) for name in plugins.installed()]
        return tuple(view for view in views if view)

    @property
    def unordered(self) -> frozenset[str]:
        """The names of all analyses. Our own are not imported for it."""
        return self.folders | {view.name for view in self.brought}

    @cached_property
    def order(self) -> tuple[str, ...]:
        views = [self[name.replace("_", "-")] for name in self.unordered]
        return tuple(view.slug for view in sorted(views, key=place))

    def __iter__(self) -> Iterator[str]:
        return iter(self.order)

    def __len__(self) -> int:
        return len(self.order)

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
    view = VIEWS.find(analysis)
    if view is None:
        raise ExplorerError(f"There is no analysis {analysis!r:.60}; wanted one of {', '.join(VIEWS.names)}.")
    return view
