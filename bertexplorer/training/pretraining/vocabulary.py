"""Train a WordPiece vocabulary in BERT's format."""

from collections.abc import Iterable
from pathlib import Path

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from bertexplorer.training.pretraining.sentences import documents

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def train_wordpiece(files: Iterable[Path], pieces: int) -> tokenizers.Tokenizer:
    """An uncased WordPiece tokenizer of at most *pieces* pieces (Schuster & Nakajima, 2012, by merging pairs)."""
    whole = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    whole.normalizer = normalizers.BertNormalizer(lowercase=True)
    whole.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    whole.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=pieces, special_tokens=list(SPECIAL), limit_alphabet=min(400, pieces // 2), show_progress=False
    )
    whole.train_from_iterator((line for file in files for document in documents(file) for line in document), trainer)
    ids = whole.get_vocab()
    whole.post_processor = processors.BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    return whole
