"""The graphs of a site against the encoder itself, in another runtime; and whether those in the package are current."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.forward import Intervention
from bertexplorer.model.load import load
from bertexplorer.site import weights
from bertexplorer.site.folder import HERE
from bertexplorer.site.graph import WEIGHTS, Graphs, export
from tests.conftest import BUNDLED


@pytest.fixture(scope="module")
def mini() -> Checkpoint:
    return load(BUNDLED, precision="fp32")


def session(graphs: Graphs, name: str, packed: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.add_external_initializers_from_files_in_memory([WEIGHTS], [packed], [len(packed)])
    return onnxruntime.InferenceSession(graphs.files[name], options)


def check(checkpoint: Checkpoint, graphs: Graphs) -> None:
    """A batch with padding and a head off gives what the encoder gives, and the reader what the MLM head gives."""
    shape = checkpoint.config
    packed = weights.pack(checkpoint, graphs.places, "fp32")
    ids = torch.randint(5, shape.vocab_size, (2, 7), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    segments = torch.zeros_like(ids)
    segments[:, 4:] = 1 if shape.num_segments > 1 else 0
    heads = torch.ones(2, shape.num_layers, shape.num_heads)
    heads[0, 0, 1] = 0
    with torch.no_grad():
        words = checkpoint.encoder.embeddings.words(ids)
        asked = segments if shape.num_segments else None
        wanted = checkpoint.encoder(ids, asked, mask > 0, intervention=Intervention(heads), attention=True)
        logits = checkpoint.masked_lm(wanted.last[0])
    layers = session(graphs, "layers", packed)
    fed = {"words": words, "segments": segments, "mask": mask, "heads": heads}
    feeds = {part.name: fed[part.name].numpy() for part in layers.get_inputs()}
    hidden, attention = layers.run(["hidden", "attention"], feeds)
    read = mask[:, :, None].numpy() > 0
    for found, tensor in zip(hidden, wanted.hidden, strict=True):
        np.testing.assert_allclose(found * read, tensor.numpy() * read, atol=2e-5)
    np.testing.assert_allclose(attention, torch.stack(wanted.attention).numpy(), atol=1e-5)
    [read_logits] = session(graphs, "reader", packed).run(None, {"vectors": wanted.last[0].numpy()})
    np.testing.assert_allclose(read_logits, logits.numpy(), atol=1e-4)


def test_the_graphs_of_the_package_are_those_of_mini(mini: Checkpoint) -> None:
    graphs = Graphs.load(HERE / "mini")
    assert graphs.of == str(mini.config)
    assert sum(int(np.prod(place.shape)) for place in graphs.places) == sum(
        tensor.numel() for tensor in weights.named_tensors(mini).values()
    )
    check(mini, graphs)


@pytest.mark.slow
def test_an_export_of_mini_gives_the_graphs_of_the_package(mini: Checkpoint, tmp_path: Path) -> None:
    """After a change of the encoder or of an exporter: bertexplorer/site/graph.py says how to write them anew."""
    made, kept = export(mini), Graphs.load(HERE / "mini")
    assert made.places == kept.places
    made.save(tmp_path)
    assert Graphs.load(tmp_path).places == kept.places
    check(mini, made)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["electra-generator", "mpnet", "nomic", "roberta"])
def test_graphs_of_other_families(tiny, kind: str) -> None:  # type: ignore[no-untyped-def]
    checkpoint = load(tiny(kind), precision="fp32")
    check(checkpoint, export(checkpoint))
