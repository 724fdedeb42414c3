"""How figures and sentences write numbers and names."""

from collections.abc import Sequence

from bertexplorer.wording import counted


def percent(p: float) -> str:
    """A probability with sensible digits: 97 %, 3.2 %, 0.4 %, < 0.1 %."""
    share = 100 * p
    if share >= 99.95:
        return "> 99.9 %" if p < 1 else "100 %"
    if share >= 9.95:
        return f"{share:.0f} %" if share < 99 else f"{share:.1f} %"
    return f"{share:.1f} %" if share >= 0.1 else "< 0.1 %"


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
    return f"{name_answer(answer)} {'is' if answer == 'cosine' else 'has'}"


def clip(text: str, length: int = 24) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def excerpt(sentence: str, start: int, end: int, length: int) -> str:
    """*sentence* cut to at most *length* characters, with the part from *start* to *end* in the middle."""
    if len(sentence) <= length:
        return sentence
    first = max(0, min(start - (length - (end - start)) // 2, len(sentence) - length))
    last = min(len(sentence), first + length)
    # not in the middle of a word, if that leaves one beside the part
    before, after = sentence.find(" ", first, start - 1), sentence.rfind(" ", end + 1, last)
    if first and before >= 0:
        first = before + 1
    if last < len(sentence) and after >= 0:
        last = after
    return ("…" if first else "") + sentence[first:last].strip() + ("…" if last < len(sentence) else "")


def decimal(value: float, digits: int = 2) -> str:
    """A number with a real minus sign."""
    return f"{value:.{digits}f}".replace("-", "−")


def signed(value: float, digits: int = 2) -> str:
    """A number with its sign, or 0 if it rounds to zero."""
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text if text.strip("+−0.") else "0"


def log_probability(value: float) -> str:
    """A log-probability; one near 0 with a third digit, because only certainty is 0."""
    if value > -0.0005:
        return "> −0.001" if value < 0 else "0"
    return decimal(value, 2 if value <= -0.005 else 3)


def count(number: int, noun: str) -> str:
    """1 head, 2 heads."""
    return counted(number, noun)


def layer_name(layer: int) -> str:
    return f"layer {layer}" if layer else "input"


def capital(text: str) -> str:
    """*text* as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def beyond_limit(tokens: int) -> list[str]:
    """A sentence about *tokens* that the checkpoint did not read, if there are any."""
    verb = "was" if tokens == 1 else "were"
    return [f"{count(tokens, 'token')} beyond the checkpoint's limit {verb} not read."] if tokens else []


def shortened_pairs(pairs: int) -> list[str]:
    """A sentence about *pairs* of texts that the checkpoint did not read to the end, if there are any."""
    verb = "was" if pairs == 1 else "were"
    return [f"{count(pairs, 'pair')} {verb} longer than the checkpoint reads and cut."] if pairs else []


def unlike_uncertainties(first: float, second: float) -> str:
    """A sentence about two answers whose largest possible entropies, in bits, differ; "" if they are the same."""
    if first == second:
        return ""
    return (
        f"The largest possible uncertainty is {first:.1f} bits for the first and {second:.1f} for the second, which "
        "chooses among another number of answers."
    )


def only_first_mask(other_masks: int) -> list[str]:
    """A sentence about masks that the view does not cover, if there are any."""
    return [f"This is about the first of {other_masks + 1} masks."] if other_masks else []


def join_names(names: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
