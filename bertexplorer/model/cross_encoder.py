"""What the files of a cross-encoder make of its score.

A cross-encoder reads two texts together and scores how well the second fits the first (Nogueira and Cho, 2019).
sentence-transformers 6 says in config_sentence_transformers.json that it is one, and names the function; versions 4 and
5 do so in config.json, under sentence_transformers; older ones have a key of their own there."""

from pathlib import Path
from typing import Any

from bertexplorer.model.sentence_encoder import SETTINGS, is_cross_encoder, read_object

NEWER, OLDER = "sentence_transformers", "sbert_ce_default_activation_function"  # keys of config.json
USUAL = "Sigmoid"  # if no file names a function of torch, as in sentence-transformers


def relevance_function(folder: Path, hf: dict[str, Any]) -> str:
    """The function of torch that makes a relevance of the score of the cross-encoder in *folder*, such as "Sigmoid" or
    "Identity"; "" if it is none. *hf*: its config.json."""
    named: list[object] = []
    if is_cross_encoder(folder):
        named.append(read_object(folder / SETTINGS).get("activation_fn"))
    elif NEWER not in hf and OLDER not in hf:
        return ""
    if isinstance(hf.get(NEWER), dict):
        named.append(hf[NEWER].get("activation_fn"))
    named.append(hf.get(OLDER))
    for path in named:
        if isinstance(path, str) and path.startswith("torch."):
            return path.rpartition(".")[2][:40]
    return USUAL
