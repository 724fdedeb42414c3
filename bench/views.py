"""Benchmark: each view compared with equivalent code that uses transformers, bertviz or captum.

    python -m bench.views [--rounds 9]

Same weights, same text, one process, interleaved cases, medians, 2 threads. Ours runs a new pass every time, except
in the last row. Theirs uses fp32, and eager attention if attention is requested, as transformers requires.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from bench.common import MINI, base_shape, machine, medians
from bertexplorer import engine
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Text
from bertexplorer.views.attention import compute as attention, show as attention_figure
from bertexplorer.views.attention_flow import compute as attention_flow
from bertexplorer.views.bertviz import compute as bertviz, show as bertviz_figure
from bertexplorer.views.fill_mask import compute as fill_mask
from bertexplorer.views.layers import compute as layers
from bertexplorer.views.next_sentence import compute as next_sentence
from bertexplorer.views.saliency import compute as saliency
from bertexplorer.views.switchboard import compute as switchboard
from bertexplorer.views.word_in_context import compute as word_in_context

STEPS = 32
SENTENCES = [f"The bank number {i} near the river was open on that day." for i in range(12)]


class Theirs:
    """The same weights in transformers."""

    def __init__(self, folder: Path, words: int) -> None:
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        make = transformers.BertForPreTraining.from_pretrained
        self.model = make(folder, attn_implementation="eager", dtype=torch.float32).eval()
        self.fused = make(folder, dtype=torch.float32).eval()
        self.text = " ".join(["the", "bank"] * (words // 2)) + " [MASK] ."
        self.given = self.tokenizer(self.text, return_tensors="pt")

    @torch.no_grad()
    def attention(self) -> Any:
        return torch.cat(self.model.bert(**self.given, output_attentions=True).attentions).numpy()

    @torch.no_grad()
    def head_view(self) -> str:
        from bertviz import head_view

        result = self.model.bert(**self.given, output_attentions=True).attentions
        tokens = self.tokenizer.convert_ids_to_tokens(self.given["input_ids"][0])
        return str(head_view(result, tokens, html_action="return").data)

    def rollout(self) -> Any:
        joint = None
        for weights in self.attention().mean(axis=1):
            mixed = 0.5 * weights + 0.5 * np.eye(len(weights))
            joint = mixed if joint is None else mixed @ joint
        return joint

    @torch.no_grad()
    def lens(self) -> Any:
        spot = int((self.given["input_ids"][0] == self.tokenizer.mask_token_id).nonzero()[0])
        hidden = self.fused.bert(**self.given, output_hidden_states=True).hidden_states
        return [self.fused.cls.predictions(state)[0, spot].log_softmax(-1) for state in hidden]

    def integrated_gradients(self) -> Any:
        from captum.attr import LayerIntegratedGradients

        ids = self.given["input_ids"]
        spot = int((ids[0] == self.tokenizer.mask_token_id).nonzero()[0])
        with torch.no_grad():
            best = int(self.fused(ids).prediction_logits[0, spot].argmax())

        def target(ids: torch.Tensor) -> torch.Tensor:
            return self.fused(ids).prediction_logits[:, spot].log_softmax(-1)[:, best]

        base = ids.clone()
        base[0, 1:-1] = self.tokenizer.mask_token_id
        method = LayerIntegratedGradients(target, self.fused.bert.embeddings.word_embeddings)
        return method.attribute(ids, base, n_steps=STEPS, return_convergence_delta=True)

    @torch.no_grad()
    def ablate_each(self) -> list[float]:
        spot = int((self.given["input_ids"][0] == self.tokenizer.mask_token_id).nonzero()[0])
        size = self.fused.config.hidden_size // self.fused.config.num_attention_heads
        result = []
        for layer in self.fused.bert.encoder.layer:
            for head in range(self.fused.config.num_attention_heads):

                def zero(_: Any, args: Any, head: int = head) -> Any:
                    x = args[0].clone()
                    x[..., head * size : (head + 1) * size] = 0
                    return (x, *args[1:])

                hook = layer.attention.output.dense.register_forward_pre_hook(zero)
                result.append(float(self.fused(**self.given).prediction_logits[0, spot].log_softmax(-1).max()))
                hook.remove()
        return result

    @torch.no_grad()
    def pairs(self) -> Any:
        both = [self.tokenizer(*p, return_tensors="pt") for p in (SENTENCES[:2], SENTENCES[1::-1])]
        return [self.fused(**given).seq_relationship_logits for given in both]

    @torch.no_grad()
    def word_vectors(self) -> list[Any]:
        result = []
        for sentence in SENTENCES:
            given = self.tokenizer(sentence, return_tensors="pt")
            hidden = torch.stack(self.fused.bert(**given, output_hidden_states=True).hidden_states)
            result.append(hidden[:, 0, 2])
        return result

    @torch.no_grad()
    def sentence_vectors(self) -> list[Any]:
        result = []
        for start in range(0, len(LINES), 32):
            given = self.tokenizer(LINES[start : start + 32], padding=True, return_tensors="pt")
            mask = given["attention_mask"][..., None]
            result.append((self.fused.bert(**given).last_hidden_state * mask).sum(1) / mask.sum(1))
        return result


LINES = [" ".join(["a river runs to the sea"] * (1 + i % 5)) for i in range(128)]


def ours(checkpoint: Checkpoint, text: str) -> dict[str, Callable[[], Any]]:
    """The view that computes the same, by the name of the method of Theirs."""
    more = Text(SENTENCES[0])
    words = word_in_context.Options(word="bank", sentences="|".join(SENTENCES[1:]))
    gradients = saliency.Options(method="integrated gradients", steps=STEPS)
    encodings = [checkpoint.tokenizer.encode(line) for line in LINES]
    calls: dict[str, Callable[[], Any]] = {
        "attention": lambda: engine.attentions(checkpoint, checkpoint.tokenizer.encode(text)),
        "head_view": lambda: bertviz_figure.draw(bertviz.run(checkpoint, text)),
        "rollout": lambda: attention_flow.run(checkpoint, text),
        "lens": lambda: layers.run(checkpoint, text),
        "integrated_gradients": lambda: saliency.run(checkpoint, text, options=gradients),
        "ablate_each": lambda: switchboard.run(checkpoint, text),
        "pairs": lambda: next_sentence.run(checkpoint, Text(*SENTENCES[:2])),
        "word_vectors": lambda: word_in_context.run(checkpoint, more, options=words),
        "sentence_vectors": lambda: engine.sentence_vectors(checkpoint, encodings, layer=-1, pooling="mean"),
    }
    return calls


def fresh(checkpoint: Checkpoint, call: Callable[[], Any]) -> Callable[[], Any]:
    """*call* with an empty cache."""

    def run() -> Any:
        checkpoint.cache.clear()
        return call()

    return run


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(2)
    print(f"{machine()}\n\n| shape | tokens | view | theirs | ours, fp32 | ours, auto |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        base = base_shape(Path(scratch), "BertForPreTraining")
        for name, folder, tokens in (("mini", MINI, 64), ("BERT-base", base, 64)):
            theirs = Theirs(folder, tokens - 4)
            both = {p: load(folder, precision=p, device="cpu") for p in ("fp32", "auto")}
            for view in ours(both["fp32"], theirs.text):
                cases = {"theirs": getattr(theirs, view)}
                cases |= {p: fresh(c, ours(c, theirs.text)[view]) for p, c in both.items()}
                result = medians(cases, rounds if name == "mini" else max(3, rounds // 3))
                message = [f"{result[p]:.1f} ms, **{result['theirs'] / result[p]:.1f}×**" for p in both]
                print(f"| {name} | {tokens} | {view} | {result['theirs']:.1f} ms | {' | '.join(message)} |", flush=True)
    grid(both["auto"])


def grid(base: Checkpoint) -> None:
    """The picture of all 144 heads at 128 tokens, after fill-mask has answered the same text."""
    text = " ".join(["the", "bank"] * 62) + " [MASK] ."
    base.cache.clear()
    fill_mask.run(base, text)
    result = medians({"grid": lambda: attention_figure.draw(attention.run(base, text))}, 5)
    size = len(attention_figure.draw(attention.run(base, text)).to_json()) / 1e6
    print(f"\n144 heads x 128 tokens after fill-mask on the same text: {result['grid']:.0f} ms, {size:.2f} MB.")


if __name__ == "__main__":
    main()
