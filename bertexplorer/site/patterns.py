"""Regular expressions of a tokenizer.json, written for Oniguruma, as a browser reads them.

Only what means the same in both is followed, which is what the published tokenizers use: characters, classes, groups,
choices, repetitions and looking ahead. Everything else is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bertexplorer.errors import ExplorerError

MAX_LENGTH = 2_000
MAX_REPEATED = 1_000
MAX_DEPTH = 20  # groups in groups
TOKEN = re.compile(
    r"""(?P<class>\\[pP]\{\^?\w{1,30}\}|\\[sSdDwW]) | (?P<line>\\[nrtfv]) | (?P<sign>\\[^\w\s])
      | (?P<open>\((?:\?(?:[:=!]|i:))?) | (?P<close>\)) | (?P<or>\|) | (?P<brackets>\[) | (?P<dot>\.)
      | (?P<repeat>[?*+]|\{\d{1,4}(?:,\d{0,4})?\}) | (?P<plain>[^\\()\[\]{}|.?*+^$])""",
    re.VERBOSE | re.DOTALL,
)
PART = re.compile(
    r"(?P<class>\\[pP]\{\w{1,30}\}|\\[sdw])|(?P<line>\\[nrtfv])|(?P<sign>\\[^\w\s])|(?P<plain>[^\\\[\]&])", re.DOTALL
)
ANY_CASE = {"s": "sSſ", "k": "kK\u212a"}  # what Oniguruma takes for these letters if case does not matter
ENDINGS = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}  # no two letters of these are also one character


@dataclass
class Reader:
    """A regular expression, read from left to right."""

    text: str
    at: int = 0
    depth: int = 0
    classes: set[str] = field(default_factory=set)

    def translate(self) -> str:
        """The expression as a browser reads it, in which \\p{name} stands for one of `classes`."""
        if len(self.text) > MAX_LENGTH:
            raise self.refusal(f"it has {len(self.text):,} characters, more than {MAX_LENGTH:,}")
        written, may_be_empty, _ = self.choices()
        if self.at < len(self.text):
            raise self.refusal("a bracket closes that was not opened")
        if may_be_empty:
            raise self.refusal("it matches nothing at all")
        return written

    def refusal(self, reason: str) -> ExplorerError:
        return ExplorerError(
            f"The tokenizer has the regular expression {self.text!r:.80}, which a site does not follow: {reason}. "
            "Choose another checkpoint."
        )

    def choices(self) -> tuple[str, bool, bool]:
        """(what is read up to the end of a group, whether it may match nothing, whether it repeats without end)."""
        written = ""
        empty = True  # what is read since the last bar
        may_be_empty = endless = False
        while self.at < len(self.text) and self.text[self.at] != ")":
            if self.text[self.at] == "|":
                self.at += 1
                written += "|"
                may_be_empty |= empty
                empty = True
                continue
            part, part_empty, part_endless = self.repeated()
            written += part
            empty &= part_empty
            endless |= part_endless
        return written, may_be_empty or empty, endless

    def repeated(self) -> tuple[str, bool, bool]:
        part, empty, endless = self.single()
        found = TOKEN.match(self.text, self.at)
        if not found or not found["repeat"]:
            return part, empty, endless
        self.at, repeat = found.end(), found["repeat"]
        if self.text[self.at : self.at + 1] == "+" or (repeat[0] == "{" and self.text[self.at : self.at + 1] == "?"):
            raise self.refusal("a repetition follows a repetition")
        if endless or empty:
            raise self.refusal("what repeats has parts that repeat, or may be nothing")
        numbers = [int(number) for number in re.findall(r"\d+", repeat)]
        if numbers and max(numbers) > MAX_REPEATED:
            raise self.refusal(f"a part repeats more than {MAX_REPEATED:,} times")
        if self.text[self.at : self.at + 1] == "?":  # as few as possible
            self.at += 1
            written = f"{part}{repeat}?"
        else:
            written = part + repeat
        never = repeat in "?*" or numbers[:1] == [0]
        return written, never, repeat in "*+" or repeat.endswith(",}")

    def single(self) -> tuple[str, bool, bool]:
        """A character, a class or a group."""
        found = TOKEN.match(self.text, self.at)
        if not found or found["repeat"] or found["close"] or found["or"]:
            raise self.refusal(f"{self.text[self.at : self.at + 8]!r} at character {self.at}")
        self.at = found.end()
        match found.lastgroup:
            case "class":
                return self.named(found[0]), False, False
            case "line":
                return found[0], False, False
            case "dot":
                return r"[^\n]", False, False
            case "brackets":
                return self.brackets(), False, False
            case "open":
                return self.group(found[0])
        return quoted(found[0].removeprefix("\\")), False, False

    def named(self, written: str) -> str:
        """A class such as \\s or \\p{L} by the name that the site's classes have."""
        name = written[2:].strip("{}") or written[1].lower()
        negated = written[1] in "SDWP"
        if name.startswith("^"):
            name, negated = name[1:], not negated
        self.classes.add(name)
        return f"\\{'P' if negated else 'p'}{{{name}}}"

    def brackets(self) -> str:
        end, out = self.at, "["
        if self.text[end : end + 1] == "^":
            out, end = "[^", end + 1
        first = end
        while self.text[end : end + 1] != "]" or end == first:
            part = PART.match(self.text, end)
            if not part:
                raise self.refusal(f"{self.text[end : end + 8]!r} inside of brackets")
            end = part.end()
            if part["class"]:
                out += self.named(part[0])
            elif part["plain"] == "-" and end - 1 > first and self.text[end : end + 1] != "]":
                out += "-"  # a range
            else:
                out += part[0] if part["line"] else quoted(part[0].removeprefix("\\"), r"^\[]-")
        self.at = end + 1
        return f"{out}]"

    def group(self, opened: str) -> tuple[str, bool, bool]:
        start, self.depth = self.at, self.depth + 1
        if self.depth > MAX_DEPTH:
            raise self.refusal(f"more than {MAX_DEPTH} groups lie in each other")
        inner, empty, endless = self.choices()
        self.depth -= 1
        if self.text[self.at : self.at + 1] != ")":
            raise self.refusal("a bracket is not closed")
        words = self.text[start : self.at]
        self.at += 1
        if opened == "(?i:":
            if not set(words.split("|")) <= ENDINGS:
                raise self.refusal("parts of it ignore case")
            inner = "".join(f"[{ANY_CASE.get(c, c + c.upper())}]" if c.isalpha() else c for c in words)
        elif opened in ("(?=", "(?!"):
            return f"{opened}{inner})", True, False
        return f"(?:{inner})", empty, endless


def quoted(character: str, signs: str = r"^$\.*+?()[]{}|/") -> str:
    """*character*, with a backslash before it if it is one of *signs*, which mean something."""
    return f"\\{character}" if character in signs else character


def translate(text: str) -> tuple[str, set[str]]:
    """(the regular expression *text* as a browser reads it, the names of the classes of characters in it). Raises
    ExplorerError for one that would not mean the same there, or might take for ever."""
    reader = Reader(text)
    return reader.translate(), reader.classes
