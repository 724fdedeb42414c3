"""Compute a pretraining run, from its start or from its last commit, and report it as events. A run is a folder:

RUN/spec.json          the settings of every stretch
RUN/heldout.txt        hashes of the documents that are never trained on
RUN/tokenizer/         the vocabulary
RUN/events.jsonl       the log, a JSON object per line; log.txt: as text
RUN/commits/NAME/      weights, moments, state.json, manifest.json; model/ is a checkpoint in transformers format
RUN/snapshots/NAME/    checkpoints along the way, if requested
RUN/stop               anyone may create it; it ends the run after the current step, as SIGTERM and SIGINT do
"""

import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from bertexplorer.errors import ExplorerError
from bertexplorer.model import precision as precisions
from bertexplorer.model.text import Tokenizer
from bertexplorer.settings import DATA
from bertexplorer.training.data_parallel import DataParallel
from bertexplorer.training.events import Event
from bertexplorer.training.loop import Budget, Prefetched, Window, train
from bertexplorer.training.optimiser import adamw
from bertexplorer.training.pretraining import heldout
from bertexplorer.training.pretraining import probe as probes
from bertexplorer.training.pretraining import spec as specs
from bertexplorer.training.pretraining.batches import Batch, Collator
from bertexplorer.training.pretraining.corpus import Progress, Shard, prepare, train_wordpiece
from bertexplorer.training.pretraining.examples import Bucket, buckets, examples
from bertexplorer.training.pretraining.objectives import CausalLanguage
from bertexplorer.training.pretraining.pool import Pool
from bertexplorer.training.pretraining.sentences import text_files
from bertexplorer.training.pretraining.spec import Spec
from bertexplorer.training.pretraining.start import Trained, again, begin, capture, export
from bertexplorer.training.run_driver import RunDriver, set_dropout
from bertexplorer.training.run_process import log_events

CACHE = DATA / "corpora"
TELL = 15.0  # seconds between two events about steps
TEXT, MASKS = 1, 2  # streams of random numbers


def pretrain(folder: Path, stop: Callable[[], bool] = lambda: False) -> Iterator[Event]:
    """Continue the run in *folder*, which has a spec.json, until its last stretch is done or *stop* returns True.

    Yields each event after writing it to the log. Raises ExplorerError; commits stay intact."""
    stretches = specs.read(folder / "spec.json")
    yield from log_events(folder, lambda ending: Run(folder, stretches, ending), stop)


class Run(RunDriver):
    """A pretraining run while it is computed."""

    def __init__(self, folder: Path, stretches: list[Spec], stop: Callable[[], bool]) -> None:
        self.spec, self.stretch = stretches[-1], len(stretches) - 1
        self.probe: probes.Probe | None = None
        running, device = self.spec.running, precisions.best_device()
        super().__init__(folder, stop, threads=running.threads, precision=running.precision, device=device)

    def events(self) -> Iterator[Event]:
        tokenizer, shards = yield from self.read()
        kept, held = heldout.split(shards, self.held_out(shards))
        pool = Pool(shards, [self.spec.weight(s.name) for s in shards], kept)
        if pool.with_boundary < 2 and self.spec.pairs != "none":
            raise ExplorerError(
                f"Documents of two sentences or more: {pool.with_boundary}; wanted 2, to draw a wrong next sentence. "
                "Put blank lines between documents and add some, or choose an objective without pairs."
            )
        source = yield from self.newest_commit()
        trained = again(source, self.spec, self.device) if source else begin(self.spec, tokenizer, self.device)
        set_dropout(trained.objective.modules, self.spec.running.dropout)
        optimiser = adamw(trained.objective.modules, self.spec.learning)
        yield from self.resume(trained.objective.modules, optimiser, source)
        most = trained.checkpoints["model"].config.max_positions
        parts = buckets(self.spec.drawing.lengths, most)
        measure = heldout.fix(shards, held, tokenizer, count=self.spec.running.heldout_pairs, longest=most)
        self.probe = probes.fix(shards, held, tokenizer, longest=most) if self.spec.running.probe else None
        yield {
            "event": "ready",
            "documents": len(pool.first),
            "tokens": int(sum(s.tokens[k].sum() for s, k in zip(shards, kept, strict=True))),
            "heldout_documents": int(sum(h.sum() for h in held)),
            "precision": "bf16" if self.bf16 else "fp32",
            "device": str(self.device),
            "threads": self.threads,
            "floors": {"uniform": measure.uniform} | {f"unigram_{k}": v for k, v in measure.unigram.items()},
        }
        with Prefetched(self.batches(pool, parts, tokenizer)) as batches:
            yield from self.train_steps(trained, optimiser, batches, measure)

    def read(self) -> Generator[Event, None, tuple[Tokenizer, list[Shard]]]:
        """The text as ids, and the tokenizer that made them."""
        files = [f for f in text_files(self.spec.text) if self.spec.weight(f.name) > 0]
        tokenizer = self.tokenizer(files)
        shards: list[Shard] = []
        for found in prepare(files, tokenizer, Path(self.spec.cache or CACHE)):
            if isinstance(found, Progress):
                yield {"event": "reading", "file": found.file, "documents": found.documents, "tokens": found.tokens}
            else:
                shards.append(found)
        return tokenizer, shards

    def tokenizer(self, files: list[Path]) -> Tokenizer:
        """The run's tokenizer, created in its folder when it starts."""
        place = self.folder / "tokenizer"
        most = self.spec.size.positions
        if not place.is_dir():
            aside = self.folder / ".tokenizer.partial"
            aside.mkdir(exist_ok=True)
            source = self.spec.start or self.spec.vocabulary
            if source:
                Tokenizer.from_folder(Path(source), max_tokens=most).save(aside)
            else:
                train_wordpiece(files, self.spec.size.pieces).save(str(aside / "tokenizer.json"))
            aside.replace(place)
        return Tokenizer.from_folder(place, max_tokens=most)

    def held_out(self, shards: list[Shard]) -> NDArray[np.uint64]:
        """The run's held-out documents, chosen or copied when it starts."""
        place = self.folder / "heldout.txt"
        if not place.is_file():
            given = self.spec.heldout
            found = heldout.read(Path(given)) if given else heldout.choose(shards, self.spec.running.heldout_documents)
            heldout.write(found, place)
        return heldout.read(place)

    def batches(self, pool: Pool, parts: tuple[Bucket, ...], tokenizer: Tokenizer) -> Callable[[int], list[Batch]]:
        """A step's number -> its batches: text and masks each follow from seed and step."""
        spec, running = self.spec, self.spec.running
        collator = Collator.of(tokenizer, spec.masking)

        def drawn(step: int) -> list[Batch]:
            turn = step % running.repeat_steps if running.repeat_steps else step
            text = np.random.default_rng([running.seed, TEXT, turn])
            masks = np.random.default_rng([running.seed, MASKS, turn if running.static else step])
            step_examples = examples(pool, parts, spec.pairs, spec.drawing, running.batch_tokens, text)
            made = collator.batches(step_examples, running.piece_tokens, masks)
            return [batch.pinned() for batch in made] if self.device.type == "cuda" else made

        return drawn

    def train_steps(
        self,
        trained: Trained,
        optimiser: torch.optim.Optimizer,
        batches: Callable[[int], list[Batch]],
        measure: heldout.HeldOut,
    ) -> Iterator[Event]:
        """Steps, with evaluations and commits in between and at the end. A stopped run is committed but not
        evaluated."""
        spec, running, state = self.spec, self.spec.running, self.state
        workers = self.workers(trained)
        yield from self.snapshots(trained)
        if state.step == state.begun_step:
            yield self.evaluated(trained, measure)
        window = Window()
        evaluated = committed = time.monotonic()
        steps = train(
            workers,
            optimiser,
            batches,
            state,
            learning=spec.learning,
            budget=Budget(running.steps, running.minutes),
            seed=running.seed,
        )
        stopped = False
        for step in steps:
            window.steps.append(step)
            if time.monotonic() - window.since >= TELL:
                yield {"event": "steps"} | self.progress() | window.summary()
                window = Window()
            yield from self.snapshots(trained)
            if time.monotonic() - evaluated >= 60 * running.evaluate_minutes:
                yield self.evaluated(trained, measure)
                evaluated = time.monotonic()
            if stopped := self.stop():
                break
            if time.monotonic() - committed >= 60 * running.commit_minutes:
                yield self.commit(trained, optimiser)
                committed = time.monotonic()
        if window.steps:
            yield {"event": "steps"} | self.progress() | window.summary()
        yield self.commit(trained, optimiser)
        if not stopped:
            yield self.evaluated(trained, measure)
        yield {"event": "stopped" if stopped else "finished"} | self.progress()

    def workers(self, trained: Trained) -> DataParallel:
        """One per core; a single one if computing draws random numbers, which would depend on the order of the
        threads."""
        running = self.spec.running
        alone = self.device.type != "cpu" or running.dropout > 0 or running.objective == "replaced"
        count = 1 if alone else self.threads
        torch.set_num_threads(self.threads // count)
        return DataParallel(trained.objective, count, self.device, bf16=self.bf16)

    def progress(self) -> Event:
        budget = Budget(self.spec.running.steps, self.spec.running.minutes)
        return {"share": budget.share(self.state), "tokens": self.state.tokens, "hours": self.state.seconds / 3600}

    def evaluated(self, trained: Trained, measure: heldout.HeldOut) -> Event:
        began = time.monotonic()
        found = heldout.evaluate(trained.objective, measure, self.device, bf16=self.bf16)
        if self.probe:
            model, causal = trained.checkpoints["model"], isinstance(trained.objective, CausalLanguage)
            found |= probes.measure(self.probe, model.encoder, model.tokenizer, self.device, causal=causal)
        return {"event": "evaluated"} | self.progress() | found | {"seconds": time.monotonic() - began}

    def commit(self, trained: Trained, optimiser: torch.optim.Optimizer) -> Event:
        running = self.spec.running
        return self.write_commit(
            lambda into: capture(trained, optimiser, self.state, self.threads, into, running.export), keep=running.keep
        )

    def snapshots(self, trained: Trained) -> Iterator[Event]:
        """A snapshot, if this step is to have one."""
        if self.state.step in self.spec.snapshot_steps:
            yield self.write_snapshot(lambda into: export(trained, into, self.spec.running.export))
