"""Notebook: the widget that shows the views of the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertexplorer.errors import ExplorerError
from bertexplorer.python.bert import Bert, Words, load

if TYPE_CHECKING:
    from bertexplorer.web.widget import Widget


def widget(
    analysis: str = "fill_mask",
    text: str = "",
    pair: str = "",
    *,
    checkpoint: str | Path | Bert = "mini",
    mask: Words = (),
    pick: Words = (),
    **options: Any,
) -> Widget:
    """The views of the page in a notebook, in which one can type, press tokens and change settings.

    Args:
        analysis: the view to open, by the name of its analysis.
        text: the text; without one, the widget opens with the view's first example.
        pair: a second text, read as segment B.
        checkpoint: the checkpoint, as `load` takes it.
        mask: words to hide, as for the analyses.
        pick: words that the view is about, as for the analyses.
        **options: the settings of the analysis.

    Returns:
        The widget. Its `state` is what it shows (view, text, pair, hidden and picked words, settings), and its `result`
        the `Result` of that; `show`, with the same arguments, changes it from Python.

    Raises:
        ExplorerError: as the analyses do, and if anywidget, which `pip install "bertexplorer[notebook]"` brings, is
            missing.

    Example:
        >>> widget = bx.widget("attention", "The cat sat on the mat.", pick="cat")
        >>> widget.result.rows[0]["from"]
        '[CLS]'
    """
    try:
        from bertexplorer.web.embedded import state_of
        from bertexplorer.web.widget import Widget
    except ImportError as error:
        raise ExplorerError('The widget needs anywidget. Install it: pip install "bertexplorer[notebook]".') from error
    bert = load(checkpoint)
    if text:
        state = state_of(bert, analysis, text, pair, mask=mask, pick=pick, options=options)
    else:  # the view's first example
        state = state_of(bert, analysis, None, pair or None, mask=mask, pick=pick, options=options)
    return Widget(bert, state)
