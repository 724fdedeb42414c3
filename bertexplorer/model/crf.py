"""Linear-chain CRF: transition scores between tags, in addition to the scores of each word's tags."""

from collections.abc import Sequence
from pathlib import Path

import torch
from jaxtyping import Bool, Float, Int
from safetensors.torch import load_file
from torch import Tensor, nn

NEVER = -1e4  # a score whose exp is 0 without NaN in gradients
SCALE = 50.0  # of the parameters: an encoder's learning rate is too small for transition scores


def may_follow(before: str, tag: str) -> bool:
    """Whether IOB2 allows *tag* after *before* ("" at the start of a sentence): an I continues only its own type."""
    return not tag.startswith("I-") or before in (tag, f"B-{tag[2:]}")


class CRF(nn.Module):
    """p(tags | words) = exp(score of the path) / Z, with Z over all paths that IOB2 allows (Lafferty et al., 2001).

    Shapes: b sentences, w words, l labels. *real* is False at padding; the first word of each sentence counts as real.
    A path that IOB2 forbids has probability 0 and is never decoded."""

    def __init__(self, labels: Sequence[str], plain: bool) -> None:
        """*plain*: the labels are not IOB2 tags, so each may follow each."""
        super().__init__()
        count = len(labels)
        self.start, self.end = nn.Parameter(torch.zeros(count)), nn.Parameter(torch.zeros(count))
        self.transitions = nn.Parameter(torch.zeros(count, count))  # [from, to]
        allowed = torch.tensor([[plain or may_follow(a, b) for b in labels] for a in ["", *labels]])
        self.register_buffer("barred", torch.where(allowed, 0.0, NEVER), persistent=False)

    @classmethod
    def from_file(cls, path: Path, labels: Sequence[str], plain: bool) -> "CRF":
        """The CRF that a run of tagging saved (task.safetensors). Raises OSError, ValueError, KeyError or RuntimeError
        if the file holds none for these labels."""
        crf = cls(labels, plain)
        crf.load_state_dict({name: load_file(path)[f"crf.{name}"] for name in crf.state_dict()})
        return crf

    def scores(self) -> tuple[Float[Tensor, " l"], Float[Tensor, "l l"], Float[Tensor, " l"]]:
        """(of the first tag, of each transition, of the last tag)."""
        barred = self.get_buffer("barred")
        return self.start * SCALE + barred[0], self.transitions * SCALE + barred[1:], self.end * SCALE

    def forward(
        self, emissions: Float[Tensor, "b w l"], tags: Int[Tensor, "b w"], real: Bool[Tensor, "b w"]
    ) -> Float[Tensor, " b"]:
        """-log p(tags) of each sentence, in nats."""
        return self.partition(emissions, real) - self.path(emissions, tags, real)

    def partition(self, emissions: Float[Tensor, "b w l"], real: Bool[Tensor, "b w"]) -> Float[Tensor, " b"]:
        """log Z."""
        start, transitions, end = self.scores()
        reached = start + emissions[:, 0]
        for word in range(1, emissions.shape[1]):
            further = (reached.unsqueeze(2) + transitions).logsumexp(1) + emissions[:, word]
            reached = torch.where(real[:, word, None], further, reached)
        return (reached + end).logsumexp(1)

    def path(
        self, emissions: Float[Tensor, "b w l"], tags: Int[Tensor, "b w"], real: Bool[Tensor, "b w"]
    ) -> Float[Tensor, " b"]:
        """The score of the path *tags*."""
        start, transitions, end = self.scores()
        counted = real.float()
        counted[:, 0] = 1.0
        words = emissions.gather(2, tags.unsqueeze(2)).squeeze(2)
        steps = transitions[tags[:, :-1], tags[:, 1:]]
        last = tags.gather(1, counted.sum(1, keepdim=True).long() - 1).squeeze(1)
        return start[tags[:, 0]] + (words * counted).sum(1) + (steps * counted[:, 1:]).sum(1) + end[last]

    def decode(self, emissions: Float[Tensor, "b w l"], real: Bool[Tensor, "b w"]) -> Int[Tensor, "b w"]:
        """The best path of each sentence (Viterbi, 1967); values at padding are meaningless."""
        start, transitions, end = self.scores()
        reached, came = start + emissions[:, 0], []
        stay = torch.arange(len(end), device=emissions.device)
        for word in range(1, emissions.shape[1]):
            best, before = (reached.unsqueeze(2) + transitions).max(1)
            here = real[:, word, None]
            reached = torch.where(here, best + emissions[:, word], reached)
            came.append(torch.where(here, before, stay))
        tags = [(reached + end).argmax(1, keepdim=True)]
        for before in reversed(came):
            tags.append(before.gather(1, tags[-1]))
        return torch.cat(tags[::-1], 1)

    def marginals(self, emissions: Float[Tensor, "b w l"], real: Bool[Tensor, "b w"]) -> Float[Tensor, "b w l"]:
        """The probability of each tag of each word over all paths: the gradient of log Z by the word's scores."""
        with torch.enable_grad():
            given = emissions.detach().requires_grad_()
            return torch.autograd.grad(self.partition(given, real).sum(), given)[0]
