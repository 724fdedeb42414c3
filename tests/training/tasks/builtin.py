"""A tiny checkpoint whose vocabulary has the words of some texts, so that it learns a built-in set in seconds."""

import re
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from tests import tiny


def write_tiny_bert(folder: Path, texts: Iterable[str], **numbers: int) -> Path:
    """A tiny BERT in *folder*; *numbers* replace its config's."""
    words = sorted({word for text in texts for word in re.findall(r"\w+|[^\w\s]", text.lower())})
    pieces = [*tiny.BERT_SPECIAL, *words, *(letter for letter in tiny.LETTERS if letter not in words)]
    pieces += [f"##{letter}" for letter in tiny.LETTERS]
    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tiny.add_special(tokenizer, tiny.BERT_SPECIAL)
    tiny.write(folder, "bert", vocab_size=tokenizer.get_vocab_size(), **numbers)
    tiny.write_tokenizer(folder, tokenizer)
    return folder
