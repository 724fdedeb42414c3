"""The encoder and its MLM head as two ONNX graphs without weights, for a runtime in the browser.

The graphs of the bundled checkpoint are files of this package, so that a site needs no exporter. After a change of the
encoder, `export(load(folder, precision="fp32")).save(HERE / "mini")` writes them anew. Those of another checkpoint are
exported; this needs onnx and onnxscript."""

from __future__ import annotations

import json
import logging
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.forward import Intervention
from bertexplorer.site.vectors import NAME, dense_layers

WEIGHTS = "weights"  # the file that the graphs name for their weights: a runtime gets it from memory
SMALL = 64  # numbers of a constant that stays in the graph


class Layers(nn.Module):
    """From the vectors of words to the vectors of all layers and the attention of all heads."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        super().__init__()
        self.encoder = checkpoint.encoder

    def forward(
        self,
        words: Float[Tensor, "b t e"],
        segments: Int[Tensor, "b t"],
        mask: Int[Tensor, "b t"],
        heads: Float[Tensor, "b l h"],
    ) -> tuple[Float[Tensor, "l1 b t d"], Float[Tensor, "l b h t t"]]:
        """*words*: rows of the table of word vectors. *mask*: 0 at padding. *heads*: a factor on each head's output."""
        encoder = self.encoder
        x = encoder.embeddings.finish(words, segments if encoder.config.num_segments else None)
        passed = encoder.from_embeddings(x, mask > 0, intervention=Intervention(heads), attention=True)
        return torch.stack(passed.hidden), torch.stack(passed.attention)


class Reader(nn.Module):
    """From vectors to the logits of the MLM head."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        super().__init__()
        self.head = checkpoint.masked_lm

    def forward(self, vectors: Float[Tensor, "n d"]) -> Float[Tensor, "n v"]:
        return self.head(vectors)


class Place(NamedTuple):
    """Where the numbers of a tensor are among all weights, counted in numbers. *transposed*: columns first, as the
    graphs multiply by them."""

    name: str
    shape: tuple[int, ...]  # as stored
    start: int
    transposed: bool = False


@dataclass(frozen=True)
class Graphs:
    """The graphs of a checkpoint by name: "layers", and "reader" if it has an MLM head. *places*: those of all tensors,
    without gaps."""

    files: dict[str, bytes]
    places: tuple[Place, ...]
    of: str  # the hyperparameters of the encoder that they are of

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            (folder / f"{name}.onnx").write_bytes(content)
        lines = ",\n".join(json.dumps(line) for line in (self.of, *self.places))
        (folder / "places.json").write_text(f"[\n{lines}\n]\n", "utf-8")

    @classmethod
    def load(cls, folder: Path) -> Graphs:
        files = {path.stem: path.read_bytes() for path in sorted(folder.glob("*.onnx"))}
        of, *places = json.loads((folder / "places.json").read_text("utf-8"))
        return cls(files, tuple(Place(name, tuple(shape), *rest) for name, shape, *rest in places), of)


def export(checkpoint: Checkpoint) -> Graphs:
    """The graphs of *checkpoint*, which was opened in fp32. Raises ExplorerError if onnx or onnxscript is missing."""
    config = checkpoint.config
    tokens, batch = torch.export.Dim("tokens", min=2, max=config.max_positions), torch.export.Dim("batch", min=1)
    words = torch.randn(2, 5, config.word_size)
    segments, mask = torch.zeros(2, 5, dtype=torch.long), torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    heads = torch.ones(2, config.num_layers, config.num_heads)
    by_token = {0: batch, 1: tokens}
    graphs = {
        "layers": graph(
            Layers(checkpoint),
            {"words": words, "segments": segments, "mask": mask, "heads": heads},
            ("hidden", "attention"),
            (by_token, by_token, by_token, {0: batch}),
        )
    }
    if "masked_lm" in checkpoint.heads:
        vectors = {"vectors": torch.randn(3, config.hidden_size)}
        graphs["reader"] = graph(Reader(checkpoint), vectors, ("logits",), ({0: torch.export.Dim("rows", min=1)},))
    return without_weights(checkpoint, graphs)


def without_weights(checkpoint: Checkpoint, graphs: dict[str, Any]) -> Graphs:
    """*graphs* with the names and places of their large tensors instead of the numbers. What the exporter has changed
    beyond a transposition stays in the graph."""
    tensors = {name: tensor.detach().float().numpy() for name, tensor in sorted(named_tensors(checkpoint).items())}
    known = {tensor.T.tobytes(): (name, True) for name, tensor in tensors.items() if tensor.ndim == 2}
    known |= {tensor.tobytes(): (name, False) for name, tensor in tensors.items()}  # a single row is the same both ways
    turned = {
        found[0]: found[1]
        for model in graphs.values()
        for initializer in model.graph.initializer
        if (found := known.get(initializer.raw_data))
    }
    places: dict[str, Place] = {}
    start = 0
    for name, tensor in tensors.items():
        transposed = turned.get(name, False)
        places[name] = Place(name, tensor.T.shape if transposed else tensor.shape, start, transposed)
        start += tensor.size
    for model in graphs.values():
        for initializer in model.graph.initializer:
            found = known.get(initializer.raw_data)
            if found and len(initializer.raw_data) > 4 * SMALL and places[found[0]].transposed == found[1]:
                point_outside(initializer, places[found[0]])
            initializer.ClearField("metadata_props")
        for part in (*model.graph.node, *model.graph.value_info):
            part.ClearField("metadata_props")
            part.ClearField("doc_string")
        model.graph.ClearField("value_info")
        model.graph.ClearField("metadata_props")
    return Graphs(
        {name: model.SerializeToString() for name, model in graphs.items()},
        tuple(places.values()),
        str(checkpoint.config),
    )


def named_tensors(checkpoint: Checkpoint) -> dict[str, Tensor]:
    """The parameters of the encoder, of the pretraining heads and of the sentence encoder, by name. What two modules
    share has one name."""
    return dict(modules_of(checkpoint).named_parameters())


def modules_of(checkpoint: Checkpoint) -> nn.ModuleDict:
    """The encoder, the heads and the dense layers of the sentence encoder."""
    modules = {"encoder": checkpoint.encoder, **{name: checkpoint.heads[name] for name in checkpoint.heads}}
    if len(dense := dense_layers(checkpoint)):
        modules[NAME] = dense
    return nn.ModuleDict(modules)


def shared_names(checkpoint: Checkpoint) -> dict[str, str]:
    """Other names of tensors that `named_tensors` has once -> that one: of ALBERT's layers, and of BERT's pooler, which
    is also the dense layer of a classifier."""
    first = {id(tensor): name for name, tensor in named_tensors(checkpoint).items()}
    every = modules_of(checkpoint).named_parameters(remove_duplicate=False)
    return {name: first[id(tensor)] for name, tensor in every if first[id(tensor)] != name}


def point_outside(initializer: Any, place: Place) -> None:
    """Let *initializer* name its numbers in the file WEIGHTS."""
    length = len(initializer.raw_data)
    initializer.ClearField("raw_data")
    initializer.data_location = 1  # EXTERNAL
    for key, value in (("location", WEIGHTS), ("offset", 4 * place.start), ("length", length)):
        initializer.external_data.add(key=key, value=str(value))


def graph(module: nn.Module, inputs: dict[str, Tensor], outputs: Sequence[str], shapes: Any) -> Any:
    """*module* as an ONNX model."""
    try:
        import onnx
    except ImportError as error:
        raise ExplorerError(
            "A site of another checkpoint needs two more packages. Run: pip install onnx onnxscript"
        ) from error
    with quietly(), tempfile.TemporaryDirectory() as folder, torch.no_grad():
        file = Path(folder, "graph.onnx")
        torch.onnx.export(
            module.eval(),
            tuple(inputs.values()),
            str(file),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_shapes=shapes,
            external_data=False,
            dynamo=True,
            verbose=False,
        )
        model = onnx.load(file)
    return model


@contextmanager
def quietly() -> Iterator[None]:
    """The exporter's chatter is not for people who want a site."""
    log = logging.getLogger("torch.onnx")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(before)
