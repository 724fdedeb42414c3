"""A lesson with a question of each kind for a tiny checkpoint, one with markup, and helpers that read them."""

from pathlib import Path
from typing import Any

HEAD = """---
title: Pieces
question: How many pieces?
topic: What goes in
minutes: 3
can: count pieces
guards: A word is a piece. It may be several.
sources:
  - "Wu et al. 2016"
---
"""
VIEW = "/?view=tokenization&text=The+cat+saw+xyz."
LESSON = f"""{HEAD}Words are *cut*.

```predict guess
Which word is cut into more pieces?
- [ ] *cat*
  > No: cat has a row of its own.
  when: pieces("cat") > pieces("xyz")
- [ ] *xyz*
  > Yes: nobody writes it.
  when: pieces("cat") < pieces("xyz")
view: {VIEW}
after: *xyz* has {{pieces("xyz")}} pieces.
```

```choice why
Why is a word cut?
- [x] It was rare.
  > Frequency is all that counts.
- [ ] It is long.
  > Some long words have a row.
- [ ] It is foreign.
  > Nobody asked for its origin.
```

```number count
Into how many pieces is *xyz* cut?
view: {VIEW}
key: pieces("xyz")
tolerance: 0
- below 2
  > You take it for a known word.
after: Each letter is one.
```

```number share
How many % of the tokens are *xyz*?
view: {VIEW}
key: pieces("xyz") / 10
tolerance: 0.01
```

```find longer
Write a word of 5 pieces or more.
start: {VIEW}
accept: longest() >= 5
near: longest() == 4 -> "Only {{longest()}} pieces: one more."
hint: Make a word up.
example: "qqqqq"
after: It has {{longest()}}.
```

```click odd
Press the piece that continues a word.
view: {VIEW}+The+cat
accept: clicked() == piece("xyz", 2)
hint: It has two signs in front.
```

```say words
What is a piece?
model: A part of a word that was frequent.
- says that frequency counts
- says that a piece is a part
```

```share points
Share out 100 points among the words.
- [ ] *xyz*
  value: pieces("xyz") / 4
- [ ] all others
view: {VIEW}
```

```claim holds
text: *xyz* has {{pieces("xyz")}} pieces.
view: {VIEW}
holds: pieces("xyz") == 3
```

```claim fails
text: *xyz* is whole.
view: {VIEW}
holds: pieces("xyz") == 1
otherwise: *xyz* is cut into {{pieces("xyz")}} here.
```

```figure picture
Look.
view: {VIEW}
text: A *strip*.
```
"""
EVIL = "<script>window.__pwn=1</script><img src=x onerror=window.__pwn=2>"
MARKUP = f"""{HEAD.replace("Pieces", EVIL)}Prose {EVIL} and [a link](javascript:window.__pwn=3).

{EVIL}

```choice evil
Which {EVIL}?
- [x] One {EVIL}
  > Said {EVIL}
- [ ] Two
  > No.
```

```say broken
```
"""


LECTURE = f"""---
title: Pieces, aloud
minutes: 7
can: count pieces
---
Bring chalk.

```view names
What goes in?
minutes: 3
view: {VIEW}
```
Type a name.

```vote first
minutes: 2
lesson: pieces
question: guess
```

```vote second
minutes: 2
lesson: pieces
question: why
```
"""


def lessons(folder: Path) -> Path:
    """A teacher's folder with both lessons, two lectures, and unreadable files."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "01-pieces-aloud.lecture.md").write_text(LECTURE, "utf-8")
    silent = LECTURE.partition("```vote first")[0].replace("minutes: 7", "minutes: 3")
    (folder / "91-silent.lecture.md").write_text(silent, "utf-8")
    (folder / "30-pieces.md").write_text(LESSON, "utf-8")
    (folder / "31-markup.md").write_text(MARKUP, "utf-8")
    (folder / "43-folder.md").mkdir()
    for name in ("44-gone.md", "30-pieces.de.md"):
        (folder / name).symlink_to(folder / "nowhere")
    (folder / "45-latin.md").write_bytes(LESSON.replace("cut", "coupé").encode("latin-1"))
    return folder


def words(parts: Any) -> str:
    """The text of a tree, or of anything with trees in it, without its elements."""
    if isinstance(parts, str):
        return parts
    if isinstance(parts, dict):
        return " ".join(words(part) for part in parts.values())
    if isinstance(parts, list):
        if len(parts) == 3 and isinstance(parts[0], str) and isinstance(parts[1], dict):
            return words(parts[2])
        return "".join(words(part) for part in parts)
    return ""


def elements(parts: Any) -> set[str]:
    """The names of all elements in what the server sent."""
    if isinstance(parts, dict):
        return set().union(*(elements(part) for part in parts.values()))
    if not isinstance(parts, list):
        return set()
    own = {parts[0]} if len(parts) == 3 and isinstance(parts[0], str) and isinstance(parts[1], dict) else set()
    return own.union(*(elements(part) for part in parts))
