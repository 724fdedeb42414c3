"""Picture: a figure that a script of the page draws as SVG, as plotly has no such chart. Plain data, like a Chart."""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

SCRIPTS = Path(__file__).parents[1] / "web" / "static"


@dataclass(frozen=True, eq=False)
class Picture:
    """*kind*: the script that draws it, `<kind>_picture.js`. *data*: what the script reads. *height*: the pixels to
    reserve for it on a wide page."""

    kind: str
    data: dict[str, Any]
    height: int

    def to_json(self) -> str:
        """The JSON that the page reads."""
        parts = {"picture": self.kind, "data": self.data, "layout": {"height": self.height}}
        return orjson.dumps(parts, option=orjson.OPT_SERIALIZE_NUMPY).decode()

    def document(self, said: str = "") -> str:
        """A page of its own with the picture and *said* below it. It makes no request."""
        script = (SCRIPTS / f"{self.kind}_picture.js").read_text("utf-8")
        data = self.to_json()
        for sign in "<>&":  # a token must not end the script; JSON treats the escape as the same character
            data = data.replace(sign, f"\\u{ord(sign):04x}")
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width"><title>BERT Explorer</title>'
            "<style>body{font:16px system-ui,sans-serif;max-width:1100px;margin:1rem auto;padding:0 1rem}</style>"
            f'</head><body><div id="picture"></div><p>{html.escape(said)}</p>'
            f'<script type="module">{script}\nopen({data}, document.getElementById("picture"));</script></body></html>'
        )
