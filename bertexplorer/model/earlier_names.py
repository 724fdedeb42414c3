"""Checkpoints that were published before transformers had their family: their config.json and tensors, renamed.

Nomic BERT, GTE (then called "new") and Jina embeddings v3 came with code of their own, which named things otherwise.
transformers reads them by the same renaming and writes them in the earlier names, so that files have both."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from bertexplorer.errors import ExplorerError

if TYPE_CHECKING:
    from bertexplorer.model.tensors import Stored

THREE = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
TENSORS: dict[str, dict[str, str | tuple[str, ...]]] = {  # model_type -> pattern -> its name now, or those of its parts
    "nomic_bert": {
        r"^bert\.": "nomic_bert.",
        r"encoder\.layers\.": "layers.",
        r"emb_ln": "embeddings.LayerNorm",
        r"attn\.Wqkv": THREE,
        r"attn\.out_proj": "self_attn.o_proj",
        r"mlp\.fc11": "mlp.up_proj",
        r"mlp\.fc12": "mlp.gate_proj",
        r"mlp\.fc2": "mlp.down_proj",
        r"norm1\.": "post_attention_layernorm.",
        r"norm2\.": "post_mlp_layernorm.",
    },
    "gte": {
        r"^new\.": "gte.",
        r"encoder\.layer\.": "layers.",
        r"attention\.qkv_proj": THREE,
        r"attention\.o_proj": "self_attn.o_proj",
        r"mlp\.up_gate_proj": ("mlp.up_proj", "mlp.gate_proj"),
        r"attn_ln": "post_attention_layernorm",
        r"mlp_ln": "post_mlp_layernorm",
        r"lm_head\.norm": "lm_head.layer_norm",
    },
    "jina_embeddings_v3": {
        r"encoder\.layers\.": "layers.",
        r"emb_ln": "embeddings.LayerNorm",
        r"mixer\.Wqkv": THREE,
        r"mixer\.out_proj": "self_attn.o_proj",
        r"norm1\.": "post_attention_layernorm.",
        r"norm2\.": "post_mlp_layernorm.",
    },
}
NOMIC = {  # config.json had the names of GPT-2
    "n_embd": "hidden_size",
    "n_layer": "num_hidden_layers",
    "n_head": "num_attention_heads",
    "n_inner": "intermediate_size",
    "n_positions": "max_position_embeddings",
    "layer_norm_epsilon": "layer_norm_eps",
    "rotary_emb_base": "rope_theta",
    "resid_pdrop": "hidden_dropout_prob",
    "attn_pdrop": "attention_probs_dropout_prob",
}
NOMIC_DENSE, NOMIC_WORDS = "cls.predictions.transform.dense", "nomic_bert.embeddings.word_embeddings"
NOMIC_PUBLISHED = {  # what all of them have in common
    "rotary_emb_fraction": 1.0,
    "rotary_emb_interleaved": False,
    "rotary_emb_scale_base": None,
    "prenorm": False,
    "causal": False,
    "use_rms_norm": False,
    "qkv_proj_bias": False,
    "mlp_fc1_bias": False,
    "mlp_fc2_bias": False,
}
GTE_PUBLISHED = {
    "position_embedding_type": "rope",
    "layer_norm_type": "layer_norm",
    "logn_attention_scale": False,
    "pack_qkv": True,
}


NEWER_HEAD, LEGACY_HEAD = "lm_predictions.lm_head", "cls.predictions"
HEAD_PARTS = {
    "dense.weight": "transform.dense.weight",
    "dense.bias": "transform.dense.bias",
    "LayerNorm.weight": "transform.LayerNorm.weight",
    "LayerNorm.bias": "transform.LayerNorm.bias",
    "bias": "bias",
}


def current_config(hf: dict[str, Any]) -> dict[str, Any]:
    """*hf*, a config.json, as transformers would write it today. Raises ExplorerError for a layout that it has not, and
    TypeError or ValueError for fields of another kind."""
    if hf.get("model_type") == "nomic_bert" and "n_embd" in hf:
        return current_nomic(hf)
    earlier = hf.get("model_type") == "gte" and ("pack_qkv" in hf or "position_embedding_type" in hf)
    return current_gte(hf) if earlier or hf.get("model_type") == "new" else hf


def current_nomic(hf: dict[str, Any]) -> dict[str, Any]:
    check_published(hf, NOMIC_PUBLISHED)
    gates = {"swiglu": "silu", "geglu": "gelu"}
    if hf.get("activation_function") not in gates:
        raise ExplorerError(
            f"config.json gives activation_function {hf.get('activation_function')!r:.40}; wanted one of "
            f"{', '.join(gates)}."
        )
    kept = {key: value for key, value in hf.items() if key not in NOMIC and key not in NOMIC_PUBLISHED}
    renamed = {new: hf[old] for old, new in NOMIC.items() if hf.get(old) is not None}
    trained = hf.get("max_trained_positions")
    if isinstance(trained, int):  # beyond, their code scales the angles by the length of the text
        renamed["max_position_embeddings"] = min(renamed.get("max_position_embeddings", trained), trained)
    return kept | renamed | {"hidden_act": gates[hf["activation_function"]]}


def current_gte(hf: dict[str, Any]) -> dict[str, Any]:
    """NTK-aware scaling becomes a larger base and a factor: (θ s)^(-2i/k) / s^(2/k) for heads of k numbers."""
    check_published(hf, GTE_PUBLISHED)
    try:
        theta, scaling = float(hf.get("rope_theta", 10_000.0)), hf.get("rope_scaling")
        rope = {"rope_type": "default", "rope_theta": theta}
        if scaling:
            if scaling.get("type") != "ntk" or scaling.get("mixed_b") is not None:
                raise ExplorerError(f"config.json gives rope_scaling = {scaling!r:.80}; only 'ntk' is supported.")
            times, size = float(scaling["factor"]), hf["hidden_size"] // hf["num_attention_heads"]
            rope = {"rope_type": "linear", "rope_theta": theta * times, "factor": times ** (2 / size)}
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise ExplorerError(f"config.json cannot be used: {type(error).__name__}: {error}.") from error
    dropped = (*GTE_PUBLISHED, "rope_theta", "rope_scaling")
    kept = {key: value for key, value in hf.items() if key not in dropped}
    classes = [re.sub("^New", "Gte", str(name)) for name in hf.get("architectures") or ()]
    return {**kept, "model_type": "gte", "rope_parameters": rope, "architectures": classes}


def check_published(hf: dict[str, Any], published: dict[str, Any]) -> None:
    for key, wanted in published.items():
        if hf.get(key, wanted) != wanted:
            raise ExplorerError(f"config.json gives {key} = {hf[key]!r:.40}; only {wanted!r} is supported.")


def current_tensors(model_type: str, stored: dict[str, Stored]) -> dict[str, Stored]:
    """*stored* by the names of today. A tensor that holds several of ours in equal slices of axis 0 comes as these; the
    patterns before it in TENSORS have been applied to them."""
    from bertexplorer.model.tensors import Slice, Zeros  # with torch, which reading a config.json does without

    patterns = TENSORS.get(model_type)
    if patterns is None:
        return stored
    tensors: dict[str, Stored] = {}
    for name, entry in stored.items():
        parts: tuple[str, ...] = ()
        for pattern, now in patterns.items():
            if isinstance(now, str):
                name = re.sub(pattern, now, name)
            elif re.search(pattern, name) and entry.shape and entry.shape[0] % len(now) == 0:
                parts = tuple(re.sub(pattern, part, name) for part in now)
        if not parts:
            parts = (name,)
        sizes = (entry.shape[0] // len(parts), *entry.shape[1:]) if entry.shape else entry.shape
        for i, part in enumerate(parts):
            tensors[part] = Slice(entry.file, part, sizes, entry.dtype, entry, i, len(parts))
    dense, words = (tensors.get(f"{name}.weight") for name in (NOMIC_DENSE, NOMIC_WORDS))
    if model_type == "nomic_bert" and dense and words:  # their MLM head has no biases, transformers' has them
        for name, count in ((f"{NOMIC_DENSE}.bias", dense.shape[0]), ("cls.predictions.bias", words.shape[0])):
            tensors.setdefault(name, Zeros(dense.file, name, (count,), dense.dtype))
    return tensors


def with_legacy_head(hf: dict[str, Any], stored: dict[str, Stored]) -> tuple[dict[str, Any], dict[str, Stored]]:
    """*hf*, a config.json, and the tensors, with the MLM head of DeBERTa-v2 by the names that transformers calls
    legacy. The newer head has other names, and its output is always the word embeddings. In a discriminator, such as
    DeBERTa-v3, the head is left as it is: that did not learn to fill masks."""
    newer = {f"{NEWER_HEAD}.{part}": f"{LEGACY_HEAD}.{ours}" for part, ours in HEAD_PARTS.items()}
    discriminates = any(name.startswith("mask_predictions.") for name in stored)
    if hf["model_type"] != "deberta-v2" or hf.get("legacy") is not False or discriminates:
        return hf, stored
    if not newer.keys() & stored.keys():
        return hf, stored
    from bertexplorer.model.tensors import Slice  # as above

    tensors: dict[str, Stored] = {}
    for old, entry in stored.items():
        name = newer.get(old, old)
        tensors[name] = Slice(entry.file, name, entry.shape, entry.dtype, entry, 0, 1)
    return {**hf, "legacy": True, "tie_word_embeddings": True}, tensors
