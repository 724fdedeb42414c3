"""Any config.json is either translated into an encoder that can be built, or rejected with a message."""

import json
import math
import subprocess
import sys
from dataclasses import astuple
from pathlib import Path

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import translate
from bertexplorer.model.config import EncoderConfig
from bertexplorer.model.families import BY_MODEL_TYPE
from bertexplorer.model.load import build
from tests.conftest import ROOT

VALUES = [None, "x", -1, 0, 1, 2.5, 10**9, 10**400, math.nan, math.inf, True, [1]]
READ_TOO = (
    *("pad_token_id", "layer_norm_eps", "type_vocab_size", "tie_word_embeddings", "embedding_size"),
    *("id2label", "num_labels", "classifier_dropout", "classifier_pooling"),
)
NEW_SPELLING = ("layer_types", "rope_parameters")
OF_MODERNBERT = ("norm_eps", "global_attn_every_n_layers", "local_attention", "global_rope_theta", "layer_types")


def sound(config: EncoderConfig) -> bool:
    numbers = [n for n in astuple(config) if isinstance(n, float)] + list(config.rope_theta or ())
    return (
        all(math.isfinite(n) and n >= 0 for n in numbers)
        and config.norm_eps > 0
        and 0 <= config.pad_id < config.vocab_size
        and config.first_position >= 0
        and 0 not in (config.rope_theta or ())
        and all(
            isinstance(flag, bool)
            for flag in (config.tied, config.attention_bias, config.mlp_bias, config.norm_bias, config.head_bias)
        )
        and not (config.rope_theta and config.head_size % 2)
    )


def escapes(folder: str, *aside: str) -> list[str]:
    """The unexpected errors when each field of a valid config.json, except those *aside*, has each of VALUES."""
    hf = json.loads(Path(folder, "config.json").read_text())
    hf = {key: value for key, value in hf.items() if key not in aside}
    family, escaped = BY_MODEL_TYPE[hf["model_type"]], []
    good = translate(family, hf)
    assert sound(good)
    more = OF_MODERNBERT if "modernbert" in family.MODEL_TYPES else ()
    for field in dict.fromkeys([*hf, *READ_TOO, *more]):
        for value in VALUES:
            try:
                config = translate(family, hf | {field: value})
                if config == good:
                    continue
                build(family, config, {})
                problem = "" if sound(config) else "accepted"
            except ExplorerError:
                continue
            except Exception as error:
                problem = f"{type(error).__name__}: {str(error)[:80]}"
            if problem:
                escaped.append(f"{hf['model_type']}: {field} = {str(value)[:9]}: {problem}")
    return escaped


@pytest.mark.slow
def test_any_value_in_any_field_is_translated_or_rejected(tiny) -> None:
    """In a process of its own, as the type checks of the tests would reject values here that the package accepts."""
    calls = [(tiny(name),) for name in ("roberta", "electra-generator", "distilbert", "modernbert", "gte", "eurobert")]
    calls.append((tiny("modernbert"), *NEW_SPELLING))  # without it, the spelling of the hub's files is used
    lines = [
        "from tests.model.test_config import escapes",
        *(f"print(*escapes{tuple(map(str, c))}, sep='\\n')" for c in calls),
    ]
    run = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert not run.stdout.strip(), run.stdout


def test_both_spellings_of_modernbert_are_equivalent(tiny) -> None:
    new = json.loads((tiny("modernbert") / "config.json").read_text())
    old = {key: value for key, value in new.items() if key not in NEW_SPELLING}
    old |= {"global_attn_every_n_layers": 3, "global_rope_theta": 160_000.0, "local_rope_theta": 10_000.0}
    family = BY_MODEL_TYPE["modernbert"]
    assert translate(family, old) == translate(family, new)
    assert [translate(family, old).is_local(layer) for layer in range(5)] == [False, True, True, False, True]


@pytest.mark.parametrize(("field", "most"), [("num_hidden_layers", 48), ("hidden_size", 4096), ("vocab_size", 10**6)])
def test_bounds_are_inclusive(tiny, field: str, most: int) -> None:
    hf = json.loads((tiny("bert") / "config.json").read_text())
    translate(BY_MODEL_TYPE["bert"], hf | {field: most})
    with pytest.raises(ExplorerError, match=f"= {most + 4}; wanted a whole number from 1 to {most:,}"):
        translate(BY_MODEL_TYPE["bert"], hf | {field: most + 4})
