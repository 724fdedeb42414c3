"""MPNet's and DeBERTa's distances: each has the row of transformers, and other layouts are rejected."""

from typing import Any

import pytest
import torch
from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position
from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.model.positions import half_buckets, log_buckets
from tests.conftest import Tiny
from tests.model.test_load import reconfigure, rewrite

APART = torch.arange(600)[:, None] - torch.arange(600)


@pytest.mark.parametrize(("buckets", "farthest"), [(256, 512), (8, 64), (4, 16), (32, 100)])
def test_deberta_distances_have_the_rows_of_transformers(buckets: int, farthest: int) -> None:
    theirs = make_log_bucket_position(APART, buckets, farthest).long() + buckets
    ours = log_buckets(APART, 2 * buckets, farthest)
    assert torch.equal(ours, theirs.clamp(0, 2 * buckets - 1))
    assert len(ours.unique()) > buckets // 2 and ours[0, 0] == buckets


def test_mpnet_distances_have_the_rows_of_transformers() -> None:
    theirs = MPNetEncoder.relative_position_bucket(-APART, num_buckets=32, max_distance=128)
    ours = half_buckets(APART, 32, 128)
    assert torch.equal(ours, theirs) and ours[0, 1] == 17 and ours[1, 0] == 1


@pytest.mark.parametrize(
    ("name", "changes", "wanted"),
    [
        ("mpnet", {"relative_attention_num_buckets": 64}, "relative_attention_num_buckets = 64; only 32"),
        ("mpnet", {"pad_token_id": 3}, "pad_token_id = 3; MPNet's positions are counted from 1"),
        ("deberta", {"conv_kernel_size": 3}, "conv_kernel_size = 3; only 0"),
        ("deberta", {"share_att_key": False}, "share_att_key = False; only True"),
        ("deberta", {"position_biased_input": True}, "position_biased_input = True; only False"),
        ("deberta", {"norm_rel_ebd": "none"}, "norm_rel_ebd = 'none'; only 'layer_norm'"),
        ("deberta", {"pos_att_type": ["c2p"]}, "pos_att_type"),
        ("deberta", {"embedding_size": 16}, "embedding_size = 16; only hidden_size, 32"),
        ("deberta", {"position_buckets": -1}, "it gives position_buckets = -1; wanted 2 at least"),
        (
            "deberta",
            {"position_buckets": 200},
            "^config.json gives 400 rows for relative positions up to 16",
        ),
        ("deberta", {"max_relative_positions": 2}, "8 rows for relative positions up to 2 tokens apart"),
    ],
)
def test_unsupported_layouts_are_rejected(tiny_copy: Tiny, name: str, changes: dict[str, Any], wanted: str) -> None:
    folder = tiny_copy(name)
    reconfigure(folder, **changes)
    with pytest.raises(ExplorerError, match=wanted):
        load(folder, precision="fp32")


def test_attention_types_may_be_one_word(tiny: Tiny, tiny_copy: Tiny) -> None:
    folder = tiny_copy("deberta")
    reconfigure(folder, pos_att_type="p2c|c2p")
    ids = torch.arange(5, 25)[None]
    one, other = (load(where, precision="fp32").encoder(ids).last for where in (folder, tiny("deberta")))
    assert torch.equal(one, other)


def test_an_untrained_head_is_ignored(tiny_copy: Tiny) -> None:
    """DeBERTa-v3's files hold parts of a fill-mask head that its discriminator never used."""
    folder = tiny_copy("deberta")
    stray = {"lm_predictions.lm_head.bias": torch.zeros(92), "mask_predictions.dense.bias": torch.zeros(32)}
    rewrite(folder, lambda t: {k: v for k, v in t.items() if not k.startswith("cls.")} | stray)
    checkpoint = load(folder, precision="fp32")
    assert not checkpoint.heads and set(checkpoint.unused) == stray.keys()
    with pytest.raises(ExplorerError, match="has no fill-mask head"):
        _ = checkpoint.masked_lm
