"""Random checkpoints of every family for the tests, a few kilobytes each, written with transformers."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import save_file
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders as decode,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

BERT_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
ALBERT_SPECIAL = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
ROBERTA_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
WORDS = """
    paris france london england berlin germany capital city the a an is was of in on and to it he she they doctor
    nurse man woman cat dog sat mat bank river money good bad great terrible film movie said works as un
""".split()  # noqa: SIM905 - a list would fill a page
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
PIECES = [*WORDS, *LETTERS, *(f"##{c}" for c in LETTERS), "##s", "##believ", "##able", *".,!?'\"-:;()[]_<>/", "é", "日"]
CORPUS = ["the capital of france is paris .", "The doctor said she works as a nurse.", "a great film, a terrible movie"]


@dataclass(frozen=True)
class Recipe:
    """How one tiny checkpoint is made: a transformers class, and the numbers of its config that differ from the
    common ones."""

    model_type: str
    model: str
    tokenizer: str = "wordpiece"
    numbers: dict[str, Any] = field(default_factory=dict)


COMMON = {
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
    "initializer_range": 0.2,
}
ELECTRA = {"embedding_size": 16, "pad_token_id": 0}
DEBERTA: dict[str, Any] = {
    "relative_attention": True,
    "share_att_key": True,
    "position_biased_input": False,
    "norm_rel_ebd": "layer_norm",
    "pos_att_type": ["p2c", "c2p"],
    "position_buckets": 4,  # so that test texts reach distances that share a vector
    "max_relative_positions": 16,
    "type_vocab_size": 0,
    "pooler_hidden_size": 32,
    "pooler_hidden_act": "gelu",
    "legacy": True,
}
ROTARY = {"type_vocab_size": 1, "layer_norm_eps": 1e-5}
EURO = {"num_key_value_heads": 2, "bos_token_id": 2, "mask_token_id": 4}
DISTIL = {"dim": 32, "n_layers": 3, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": 64}
RECIPES = {
    "bert": Recipe("bert", "BertForPreTraining"),
    "bert-untied": Recipe("bert", "BertForPreTraining", numbers={"tie_word_embeddings": False}),
    "bert-mlm": Recipe("bert", "BertForMaskedLM"),
    "bert-base": Recipe("bert", "BertModel"),
    "bert-classifier": Recipe("bert", "BertForSequenceClassification"),
    "roberta": Recipe("roberta", "RobertaForMaskedLM", "bytes", {"type_vocab_size": 1, "layer_norm_eps": 1e-5}),
    "roberta-untied": Recipe("roberta", "RobertaForMaskedLM", "bytes", {"tie_word_embeddings": False}),
    "xlm-roberta": Recipe("xlm-roberta", "XLMRobertaForMaskedLM", "unigram", {"type_vocab_size": 1}),
    "camembert": Recipe("camembert", "CamembertForMaskedLM", "unigram", {"type_vocab_size": 1}),
    "electra-generator": Recipe("electra", "ElectraForMaskedLM", numbers=ELECTRA),
    "electra-discriminator": Recipe("electra", "ElectraForPreTraining", numbers=ELECTRA),
    "electra-wide": Recipe("electra", "ElectraForPreTraining", numbers={"embedding_size": 32, "hidden_act": "relu"}),
    "distilbert": Recipe("distilbert", "DistilBertForMaskedLM", numbers=DISTIL),
    "albert": Recipe("albert", "AlbertForMaskedLM", "albert", {"embedding_size": 16}),
    "albert-untied": Recipe(
        "albert",
        "AlbertForMaskedLM",
        "albert",
        {"embedding_size": 32, "hidden_act": "gelu", "tie_word_embeddings": False},
    ),
    "mpnet": Recipe("mpnet", "MPNetForMaskedLM", "mpnet", {"layer_norm_eps": 1e-5}),
    "deberta": Recipe("deberta-v2", "DebertaV2ForMaskedLM", "albert", DEBERTA),
    "modernbert": Recipe(
        "modernbert", "ModernBertForMaskedLM", "modern", {"num_hidden_layers": 5, "local_attention": 8}
    ),
    "modernbert-no-decoder-bias": Recipe(
        "modernbert", "ModernBertForMaskedLM", "modern", {"decoder_bias": False, "local_attention": 8}
    ),
    "modernbert-attention-bias": Recipe(
        "modernbert", "ModernBertForMaskedLM", "modern", {"attention_bias": True, "local_attention": 8}
    ),
    "modernbert-mlp-bias": Recipe("modernbert", "ModernBertForMaskedLM", "modern", {"mlp_bias": True}),
    "nomic": Recipe("nomic_bert", "NomicBertForMaskedLM"),
    "gte": Recipe("gte", "GteForMaskedLM", "unigram", ROTARY),
    "gte-no-segments": Recipe("gte", "GteForMaskedLM", numbers={"type_vocab_size": 0, "pad_token_id": 0}),
    "jina": Recipe("jina_embeddings_v3", "JinaEmbeddingsV3ForMaskedLM", "unigram", ROTARY),
    "eurobert": Recipe("eurobert", "EuroBertForMaskedLM", "modern", EURO),
    "eurobert-tied": Recipe("eurobert", "EuroBertForMaskedLM", "modern", EURO | {"tie_word_embeddings": True}),
}
FAMILIES = {  # the recipe with a family's numbers, and the prefix of its classes in transformers
    "bert": "Bert",
    "roberta": "Roberta",
    "xlm-roberta": "XLMRoberta",
    "camembert": "Camembert",
    "electra-discriminator": "Electra",
    "distilbert": "DistilBert",
    "albert": "Albert",
    "mpnet": "MPNet",
    "deberta": "DebertaV2",
    "modernbert": "ModernBert",
    "nomic": "NomicBert",
    "gte": "Gte",
    "jina": "JinaEmbeddingsV3",
    "eurobert": "EuroBert",
}
LABELS = {
    "SequenceClassification": {"id2label": {0: "bad", 1: "so-so", 2: "good"}},
    "TokenClassification": {"id2label": {0: "O", 1: "B-PER", 2: "I-PER", 3: "B-LOC"}},
    "QuestionAnswering": {},
}
OFFERED = set(dir(transformers))  # names alone: looking for a class would import its family
TASK_RECIPES = {  # the fine-tuned heads: bert-SequenceClassification and so on
    f"{RECIPES[family].model_type}-{task}": replace(
        RECIPES[family], model=f"{name}For{task}", numbers={**RECIPES[family].numbers, **named}
    )
    for family, name in FAMILIES.items()
    for task, named in LABELS.items()
    if f"{name}For{task}" in OFFERED
}
IDS = {
    "bytes": (0, 1, 2),
    "unigram": (0, 1, 2),
    "wordpiece": (2, 0, 3),
    "modern": (2, 0, 3),
    "albert": (2, 0, 3),
    "mpnet": (0, 1, 2),
}  # cls, pad, sep


def write(folder: Path, name: str = "bert", *, seed: int = 0, **numbers: Any) -> Path:
    """Write the tiny checkpoint *name* of RECIPES or TASK_RECIPES to *folder*; *numbers* replace its config's."""
    recipe = (RECIPES | TASK_RECIPES)[name]
    tokenizer = TOKENIZERS[recipe.tokenizer]()
    cls, pad, sep = IDS[recipe.tokenizer]
    special = {"cls_token_id": cls, "bos_token_id": cls, "pad_token_id": pad, "sep_token_id": sep, "eos_token_id": sep}
    sizes = {"vocab_size": tokenizer.get_vocab_size(), **COMMON, **special, **recipe.numbers, **numbers}
    if recipe.model_type == "distilbert":
        sizes = {key: value for key, value in sizes.items() if key not in COMMON or key == "max_position_embeddings"}
    config = transformers.AutoConfig.for_model(recipe.model_type, **sizes)
    torch.manual_seed(seed)
    model = getattr(transformers, recipe.model)(config)
    with torch.no_grad():  # norms and biases too: fresh ones are 1 and 0, and would hide a mix-up
        for key, parameter in model.named_parameters():
            centre = 1.0 if "norm" in key.lower() and key.endswith("weight") else 0.0
            parameter.copy_(centre + 0.2 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    write_tokenizer(folder, tokenizer)
    return folder


def write_sentence_encoder(
    folder: Path, pooling: dict[str, Any], *, dense: Sequence[str] = (), normalize: bool = True, **limits: Any
) -> Path:
    """Add the files of sentence-transformers to the checkpoint in *folder*. *pooling*: 1_Pooling/config.json; *dense*:
    the activation of each dense layer, 40 and 41 … numbers wide; *limits*: sentence_bert_config.json."""
    config = json.loads((folder / "config.json").read_text())
    older = [key for key, value in pooling.items() if key.startswith("pooling_mode_") and value]
    newer = pooling.get("pooling_mode", [])
    modes = 1 if isinstance(newer, str) else len(older) or len(newer) or 1
    size = modes * config.get("hidden_size", config.get("dim"))
    files: dict[str, Any] = {"1_Pooling/config.json": pooling}
    kinds = ["Transformer", "Pooling", *["Dense"] * len(dense), *["Normalize"] * normalize]
    paths = ["", *(f"{i}_{kind}" for i, kind in enumerate(kinds) if i)]
    if limits:
        files["sentence_bert_config.json"] = limits
    for i, activation in enumerate(dense):
        layer = torch.nn.Linear(size, 40 + i)
        size = layer.out_features
        where = folder / paths[2 + i]
        where.mkdir()
        save_file({f"linear.{key}": tensor for key, tensor in layer.state_dict().items()}, where / "model.safetensors")
        files[f"{where.name}/config.json"] = {
            "in_features": layer.in_features,
            "out_features": layer.out_features,
            "bias": True,
            "activation_function": f"torch.nn.{activation}",
        }
    files["modules.json"] = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (kind, path) in enumerate(zip(kinds, paths, strict=True))
    ]
    for path, content in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(json.dumps(content))
    return folder


def write_tokenizer(folder: Path, tokenizer: Tokenizer) -> None:
    """tokenizer.json and the other files that AutoTokenizer needs."""
    mask, cls, sep, pad, unk = (
        next(t for t in pair if tokenizer.token_to_id(t) is not None)
        for pair in (("[MASK]", "<mask>"), ("[CLS]", "<s>"), ("[SEP]", "</s>"), ("[PAD]", "<pad>"), ("[UNK]", "<unk>"))
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    about = {"mask_token": mask, "cls_token": cls, "sep_token": sep, "pad_token": pad, "unk_token": unk}
    about["tokenizer_class"] = "PreTrainedTokenizerFast"
    (folder / "tokenizer_config.json").write_text(json.dumps(about))


def add_special(tokenizer: Tokenizer, tokens: Sequence[str]) -> None:
    """As in the published files: the mask of the BPE families includes the space before it."""
    lstrip = not isinstance(tokenizer.model, models.WordPiece)
    tokenizer.add_special_tokens(
        [AddedToken(t, lstrip=lstrip and "mask" in t.lower(), normalized=False) for t in tokens]
    )


def wordpiece() -> Tokenizer:
    """Lower-case WordPiece, as BERT, ELECTRA and DistilBERT use it."""
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys([*BERT_SPECIAL, *PIECES]))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.decoder = decode.WordPiece()
    add_special(tokenizer, BERT_SPECIAL)
    return tokenizer


def mpnet_wordpiece() -> Tokenizer:
    """WordPiece with RoBERTa's spelling of the special tokens and its two </s> between a pair, as MPNet has it."""
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys([*ROBERTA_SPECIAL, *PIECES]))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.decoder = decode.WordPiece()
    add_special(tokenizer, ROBERTA_SPECIAL)
    return tokenizer


def byte_level(special: Sequence[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decode.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=list(special), initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    add_special(tokenizer, special)
    return tokenizer


def roberta_bytes() -> Tokenizer:
    """Byte-level BPE with RoBERTa's spelling of the special tokens and its two </s> between a pair."""
    tokenizer = byte_level(ROBERTA_SPECIAL)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return tokenizer


def modern_bytes() -> Tokenizer:
    """Byte-level BPE with BERT's spelling of the special tokens, as ModernBERT has it."""
    tokenizer = byte_level(BERT_SPECIAL)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer


def unigram() -> Tokenizer:
    """Unigram with the ▁ mark, as XLM-R and CamemBERT use it."""
    pieces = [*(f"▁{w}" for w in WORDS), "▁", *LETTERS, *LETTERS.upper()[:26], *".,!?'", "é", "日"]
    scored = [(t, 0.0) for t in ROBERTA_SPECIAL] + [(p, -1.0 / len(p)) for p in pieces]
    tokenizer = Tokenizer(models.Unigram(scored, unk_id=3, byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decode.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    add_special(tokenizer, ROBERTA_SPECIAL)
    return tokenizer


def albert_unigram() -> Tokenizer:
    """Unigram over lower-case text without accents, as transformers builds it for ALBERT."""
    pieces = [*(f"▁{w}" for w in WORDS), "▁", *LETTERS, *".,!?'\"", "日"]
    scored = [(t, 0.0) for t in ALBERT_SPECIAL] + [(p, -1.0 / len(p)) for p in pieces]
    tokenizer: Tokenizer = transformers.AlbertTokenizer(vocab=scored).backend_tokenizer
    return tokenizer


TOKENIZERS = {
    "wordpiece": wordpiece,
    "bytes": roberta_bytes,
    "modern": modern_bytes,
    "unigram": unigram,
    "albert": albert_unigram,
    "mpnet": mpnet_wordpiece,
}
