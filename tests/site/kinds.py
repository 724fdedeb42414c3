"""Small tokenizers of each kind that a site follows, with the rules of the published ones."""

import struct
from collections.abc import Callable, Sequence

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers as normalize,
    pre_tokenizers,
    processors,
)

from tests import tiny

LLAMA = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
REPLACED = {  # as SentencePiece's own table has it
    **{"\t": " ", "\n": " ", "\r": " ", "\u00a0": " ", "\u3000": " ", "\u2009": " ", "\u200b": "", "\u00ad": ""},
    **{"ﬁ": "fi", "…": "...", "½": "1⁄2", "Å": "Å", "é": "é", "e\u0301": "é", "A\u030a": "Å", "ａ": "a", "ｶﾞ": "ガ"},
    **{"ｶ": "カ", "㍿": "株式会社", "™": "TM", "²": "2", "\r\n": " ", "한": "한"},
}


def charsmap(replaced: dict[str, str]) -> bytes:
    """The table of a Precompiled normalizer: a double array over the bytes of what is *replaced* (Aoe, 1989), and the
    replacements."""
    words, starts = b"", {}
    for written, to in replaced.items():
        starts[written.encode()] = len(words)
        words += to.encode() + b"\0"
    units, taken = [0] * 65536, {0}

    def fill(at: int, beginning: bytes) -> None:
        """The children of the unit *at*, which stands for *beginning*."""
        longer = [key for key in starts if key.startswith(beginning) and len(key) > len(beginning)]
        children = {key[len(beginning)] for key in longer} | ({0} if beginning in starts else set())
        base = next(base for base in range(1, len(units)) if not taken & {base ^ child for child in children})
        taken.update(base ^ child for child in children)
        units[at] |= (at ^ base) << 10
        if beginning in starts:
            units[at] |= 1 << 8
            units[base] = 1 << 31 | starts[beginning]
        for child in sorted(children - {0}):
            units[base ^ child] |= child
            fill(base ^ child, beginning + bytes([child]))

    fill(0, b"")
    used = 1 + max(taken)
    return struct.pack(f"<I{used}I", 4 * used, *units[:used]) + words


def framed(tokenizer: Tokenizer, special: Sequence[str]) -> Tokenizer:
    """*tokenizer* with the *special* tokens, of which the first stands before a text and the last behind it."""
    tiny.add_special(tokenizer, special)
    first, last = special[0], special[-1]
    named = [(token, tokenizer.token_to_id(token)) for token in (first, last)]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}", pair=f"{first} $A {last} $B:1 {last}:1", special_tokens=named
    )
    return tokenizer


def modern() -> Tokenizer:
    """As ModernBERT, whose added tokens are runs of spaces, found after normalisation."""
    tokenizer = tiny.modern_bytes()
    tokenizer.normalizer = normalize.NFC()
    tokenizer.add_tokens([AddedToken(" " * count, normalized=True) for count in (4, 3, 2)])
    tokenizer.add_tokens([AddedToken("|||ÉMAIL|||", normalized=True, rstrip=True)])
    return tokenizer


def spaced() -> Tokenizer:
    """As RoBERTa, with a space before each text."""
    tokenizer = tiny.roberta_bytes()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=True)
    return tokenizer


def llama() -> Tokenizer:
    """As Llama 3 and EuroBERT: words by a regular expression, then bytes."""
    tokenizer = tiny.byte_level(["<|begin|>", "<mask>", "<|end|>"])
    tokenizer.model.ignore_merges = True
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(LLAMA), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    framed(tokenizer, ["<|begin|>", "<mask>", "<|end|>"])
    tokenizer.post_processor = processors.Sequence(
        [processors.ByteLevel(trim_offsets=True, add_prefix_space=True), tokenizer.post_processor]
    )
    return tokenizer


def gemma() -> Tokenizer:
    """As Gemma and mmBERT: pieces of characters, and bytes for the others."""
    special = ["<bos>", "<mask>", "<unk>", "<eos>"]
    pieces = [*special, *BYTES, *"▁thecaoifrpsdn.", "th", "the", "▁the", "▁c", "▁▁", "is", "▁is", "f", "of"]
    merges = [("t", "h"), ("th", "e"), ("▁", "the"), ("▁", "c"), ("▁", "▁"), ("i", "s"), ("▁", "is"), ("o", "f")]
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalize.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return framed(tokenizer, special)


def unknown() -> Tokenizer:
    """Byte-pair encoding over lower-case characters, with a token for all others."""
    special = ["<s>", "<mask>", "<unk>", "</s>"]
    vocabulary = {piece: i for i, piece in enumerate([*special, *tiny.LETTERS, "▁", "▁t", "▁th", "he"])}
    merges = [("▁", "t"), ("▁t", "h"), ("h", "e")]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=False))
    tokenizer.normalizer = normalize.Sequence([normalize.NFKC(), normalize.Lowercase(), normalize.Prepend("▁")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Metaspace(prepend_scheme="never", split=False)]
    )
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="never")
    return framed(tokenizer, special)


def sentencepiece() -> Tokenizer:
    """As XLM-R: SentencePiece's own normalisation, and Unigram."""
    tokenizer = tiny.unigram()
    tokenizer.normalizer = normalize.Precompiled(charsmap(REPLACED))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    return tokenizer


def sentencepiece_before() -> Tokenizer:
    """As XLM-R was converted at first."""
    tokenizer = tiny.unigram()
    tokenizer.normalizer = normalize.Sequence(
        [normalize.Precompiled(charsmap(REPLACED)), normalize.Replace(Regex(" {2,}"), " ")]
    )
    return tokenizer


def deberta() -> Tokenizer:
    """As DeBERTa-v2 and -v3."""
    tokenizer = tiny.albert_unigram()
    tokenizer.normalizer = normalize.Sequence(
        [
            normalize.Lowercase(),
            normalize.Replace(Regex(r"\s{2,}|[\n\r\t]"), " "),
            normalize.NFC(),
            normalize.Strip(left=False, right=True),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Punctuation("isolated"), pre_tokenizers.Metaspace(prepend_scheme="first")]
    )
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    return framed(tokenizer, ["[CLS]", "<pad>", "[MASK]", "<unk>", "[SEP]"])


KINDS: dict[str, Callable[[], Tokenizer]] = {
    "WordPiece of BERT": tiny.wordpiece,
    "WordPiece of MPNet": tiny.mpnet_wordpiece,
    "bytes of RoBERTa": tiny.roberta_bytes,
    "bytes of RoBERTa after a space": spaced,
    "bytes of ModernBERT": modern,
    "bytes of Llama": llama,
    "characters of Gemma": gemma,
    "characters or unknown": unknown,
    "Unigram of XLM-R": sentencepiece,
    "Unigram of XLM-R, converted earlier": sentencepiece_before,
    "Unigram of ALBERT": tiny.albert_unigram,
    "Unigram of DeBERTa": deberta,
}
