"""What a visitor's browser computes of the views of a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bertexplorer.core.ask import DEFAULTS
from bertexplorer.core.state import State
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.site import classifier
from bertexplorer.views import VIEWS
from bertexplorer.views.view import Example

TARGETS = ("answer", "mask", "next sentence")
CHOICES: dict[str, dict[str, tuple[str, ...]]] = {  # view -> setting -> the choices that a browser has
    "switchboard": {"target": TARGETS},
    "saliency": {"method": ("occlusion",), "target": TARGETS},
    "sentence-similarity": {"pooling": ("own", "mean", "max", "last four summed"), "terms": ("last layer",)},
}
LEFT_OUT: dict[str, tuple[str, ...]] = {  # view -> settings that need a server
    "switchboard": ("neurons", "how", "source", "controls", "tagged_word"),
    "saliency": ("baseline", "steps", "samples", "tagged_word"),
    "layers": ("lens", "target", "tagged_word"),
}


@dataclass(frozen=True)
class Offer:
    """What a browser computes of the views of a checkpoint. The other views are recorded."""

    answers: bool = False  # whether it reads the checkpoint's fine-tuned head

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> Offer:
        return cls(classifier.is_read(checkpoint))

    def has(self, view: str) -> bool:
        """Whether *view* runs in a browser: it has a script, and what that reads."""
        return VIEWS[view].browser.is_file() and (self.answers or not VIEWS[view].tuned)

    def supports(self, view: str, options: Mapping[str, Any]) -> bool:
        """Whether a browser can compute *view* with these *options*."""
        left_out, choices = LEFT_OUT.get(view, ()), CHOICES.get(view, {})
        return self.has(view) and all(
            value in choices[name] if name in choices else name not in left_out or value == DEFAULTS[view][name]
            for name, value in options.items()
        )

    def computes(self, state: State) -> bool:
        """Whether a browser can answer *state*."""
        return self.supports(state.view, state.options) and state.against in ("", "another text")

    def runs(self, view: str, example: Example) -> bool:
        """Whether a browser can answer *example*, if need be with a default of its own."""
        return self.supports(view, {**defaults_of(view), **example.options})

    def settings_of(self, view: str, settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Those of *settings* that a browser has, each with its choices. A view of which only examples are recorded
        shows none."""
        if not self.has(view):
            return [{**setting, "by_page": True} for setting in settings]
        kept = [setting for setting in settings if setting["name"] not in LEFT_OUT.get(view, ())]
        return [{**setting, **here(view, setting)} for setting in kept]

    def options_of(self, view: str, example: Example) -> dict[str, Any]:
        """The settings of *example* on a site; of one that is recorded, also those whose default is another one
        there."""
        if self.runs(view, example):
            return dict(example.options)
        here = defaults_of(view)
        return {name: value for name, value in DEFAULTS[view].items() if value != here[name]} | dict(example.options)


def here(view: str, setting: dict[str, Any]) -> dict[str, Any]:
    """The default of *setting* in a browser, and its choices; all methods stay, as recorded answers have them."""
    name = setting["name"]
    choices = CHOICES.get(view, {}).get(name, setting["choices"])
    return {"default": defaults_of(view)[name], "choices": setting["choices"] if name == "method" else choices}


def defaults_of(view: str) -> dict[str, Any]:
    """The settings with which *view* opens on a site: a browser's first choice where it lacks the usual one."""
    usual, choices = DEFAULTS[view], CHOICES.get(view, {}) if VIEWS[view].browser.is_file() else {}
    return {
        name: value if name not in choices or value in choices[name] else choices[name][0]
        for name, value in usual.items()
    }
