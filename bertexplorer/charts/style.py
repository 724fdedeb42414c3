"""How figures and sentences write numbers and names."""

from collections.abc import Sequence

from bertexplorer.wording import counted


def percent(p: float) -> str:
    """A probability with sensible digits: 97 %, 3.2 %, 0.4 %, < 0.1 %."""
    share = 100 * p
    if p >= 1:
        return "100 %"
    if share >= 99.95:
        return "> 99.9 %"
    if share >= 99:
        return f"{share:.1f} %"
    if share >= 9.95:
        return f"{share:.0f} %"
    if share >= 0.1:
        return f"{share:.1f} %"
    return "< 0.1 %"


def of_two(p: float) -> tuple[str, str]:
    """A probability and its rest, with the same digits: 92.6 % and 7.4 %, 60 % and 40 %."""
    rest = 1 - p
    if 0.001 <= min(p, rest) < 0.0995:
        return f"{100 * p:.1f} %", f"{100 * rest:.1f} %"
    return percent(p), percent(rest)


def share(value: float) -> str:
    """A share of cases. None of them is 0 %, unlike a small probability."""
    return percent(value) if value else "0 %"


def measure(value: float, scored: bool) -> str:
    """The number of an answer: a score or, unless *scored*, a probability."""
    return decimal(value) if scored else percent(value)


def quote(token: str) -> str:
    """A token inside a sentence."""
    return f"“{token}”"


def name_answer(answer: str) -> str:
    """An answer inside a sentence. The cosine of two texts is no token."""
    return "the cosine" if answer == "cosine" else quote(answer)


def begin(answer: str) -> str:
    """The words before the number of an answer: “good” has, or the cosine is."""
    verb = "is" if answer == "cosine" else "has"
    return f"{name_answer(answer)} {verb}"


def clip(text: str, length: int = 24) -> str:
    """*text* cut to *length* characters, of which the last is then "…"."""
    if len(text) <= length:
        return text
    return text[: length - 1] + "…"


def excerpt(sentence: str, start: int, end: int, length: int) -> str:
    """*sentence* cut to at most *length* characters and "…" on each side that is cut, with the characters from *start*
    to before *end* in the middle."""
    if len(sentence) <= length:
        return sentence
    room = length - (end - start)
    first = max(0, min(start - room // 2, len(sentence) - length))
    last = min(len(sentence), first + length)

    # Not in the middle of a word, if that leaves one beside the part.
    before = sentence.find(" ", first, start - 1)
    if first and before >= 0:
        first = before + 1
    after = sentence.rfind(" ", end + 1, last)
    if last < len(sentence) and after >= 0:
        last = after

    cut = sentence[first:last].strip()
    if first:
        cut = f"…{cut}"
    if last < len(sentence):
        cut = f"{cut}…"
    return cut


def decimal(value: float, digits: int = 2) -> str:
    """A number with a real minus sign."""
    return f"{value:.{digits}f}".replace("-", "−")


def signed(value: float, digits: int = 2) -> str:
    """A number with its sign, or 0 if it rounds to zero."""
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text if text.strip("+−0.") else "0"


def points(share: float) -> str:
    """A difference of shares in per cent points."""
    return signed(100 * share, 1)


def log_probability(value: float) -> str:
    """A log-probability; one near 0 with a third digit, because only certainty is 0."""
    if value >= 0:
        return "0"
    if value > -0.0005:
        return "> −0.001"
    if value > -0.005:
        return decimal(value, 3)
    return decimal(value, 2)


def count(number: int, noun: str) -> str:
    """1 head, 2 heads."""
    return counted(number, noun)


def layer_name(layer: int) -> str:
    """The input, which is layer 0, or layer 1, layer 2, …"""
    return f"layer {layer}" if layer else "input"


def capital(text: str) -> str:
    """*text* as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def beyond_limit(tokens: int) -> list[str]:
    """A sentence about the number of *tokens* that the checkpoint did not read, or no sentence if it is 0."""
    if not tokens:
        return []
    verb = "was" if tokens == 1 else "were"
    return [f"{count(tokens, 'token')} beyond the checkpoint's limit {verb} not read."]


def shortened_pairs(pairs: int) -> list[str]:
    """A sentence about the number of *pairs* of texts that the checkpoint did not read to the end, or no sentence if it
    is 0."""
    if not pairs:
        return []
    verb = "was" if pairs == 1 else "were"
    return [f"{count(pairs, 'pair')} {verb} longer than the checkpoint reads and cut."]


def unlike_uncertainties(first: float, second: float) -> str:
    """A sentence about two answers whose largest possible entropies, in bits, differ; "" if they are the same."""
    if first == second:
        return ""
    return (
        f"The largest possible uncertainty is {first:.1f} bits for the first and {second:.1f} for the second, which "
        "chooses among another number of answers."
    )


def only_first_mask(other_masks: int) -> list[str]:
    """A sentence about the number of masks that the view does not cover, or no sentence if it is 0."""
    if not other_masks:
        return []
    return [f"This is about the first of {other_masks + 1} masks."]


def join_names(names: Sequence[str]) -> str:
    """a, b and c; "" without names."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
