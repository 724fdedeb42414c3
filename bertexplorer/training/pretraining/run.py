"""Compute a pretraining run, from its start or from its last commit, and report it as events. A run is a folder:

RUN/spec.json          the settings of every stage
RUN/heldout.txt        hashes of the documents that are never trained on
RUN/tokenizer/         the vocabulary
RUN/events.jsonl       the log, a JSON object per line; log.txt: as text
RUN/commits/NAME/      weights, moments, state.json, manifest.json; model/ is a checkpoint in transformers format
RUN/snapshots/NAME/    checkpoints along the way, if requested
RUN/stop               any process may create this file; it ends the run after a step, as SIGTERM and SIGINT do
"""

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict
from multiprocessing import get_all_start_methods
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
from bertexplorer.training.loop import Budget, Prefetched, PrefetchedForGPU, Window, train
from bertexplorer.training.optimiser import adamw
from bertexplorer.training.pretraining import heldout, probe as probes, spec as specs
from bertexplorer.training.pretraining.batches import Collator, MaskedBatch
from bertexplorer.training.pretraining.corpus import Progress, Shard, tokenize_files, train_wordpiece
from bertexplorer.training.pretraining.examples import Bucket, draw_examples, parse_buckets
from bertexplorer.training.pretraining.objectives import CausalLanguage
from bertexplorer.training.pretraining.pool import DocumentPool
from bertexplorer.training.pretraining.sentences import text_files
from bertexplorer.training.pretraining.spec import StageSpec
from bertexplorer.training.pretraining.start import (
    TrainingSetup,
    create_setup,
    export_checkpoints,
    load_setup,
    write_commit,
)
from bertexplorer.training.run_driver import RunDriver, set_dropout
from bertexplorer.training.run_process import log_events
from bertexplorer.training.texts import GPU_OVERHEAD, OVERHEAD
from bertexplorer.training.trackers import Reports, tracker_names

CACHE = DATA / "corpora"
REPORT = 15.0  # seconds between two events about steps
TEXT, MASKS = 1, 2  # streams of random numbers
StepBatches = Callable[[int], list[MaskedBatch]]  # a step's number -> its batches


def pretrain(folder: Path, stop: Callable[[], bool] = lambda: False) -> Iterator[Event]:
    """Continue the run in *folder*, which has a spec.json, until its last stage is done or *stop* returns True.

    Yields each event after writing it to the log. Raises ExplorerError; commits stay intact."""
    stages = specs.read_stages(folder / "spec.json")
    running = stages[-1].running
    reports = Reports(folder, tracker_names(running.report_to), asdict(running))
    yield from log_events(folder, lambda ending: PretrainingRun(folder, stages, ending), stop, reports)


class PretrainingRun(RunDriver):
    """A pretraining run while it is computed."""

    def __init__(self, folder: Path, stages: list[StageSpec], stop: Callable[[], bool]) -> None:
        self.spec, self.stage = stages[-1], len(stages) - 1
        self.probe: probes.Probe | None = None
        running, device = self.spec.running, precisions.best_device()
        super().__init__(folder, stop, threads=running.threads, precision=running.precision, device=device)

    def events(self) -> Iterator[Event]:
        torch.set_num_threads(self.threads)

        # 1. The text
        tokenizer, shards = yield from self.read()
        train_masks, held_out_masks = heldout.split_masks(shards, self.held_out_hashes(shards))
        pool = DocumentPool(shards, [self.spec.weight(s.name) for s in shards], train_masks)
        if pool.with_boundary < 2 and self.spec.pairs != "none":
            raise ExplorerError(
                f"Documents of two sentences or more: {pool.with_boundary}; wanted 2, to draw a wrong next sentence. "
                "Put blank lines between documents and add some, or choose an objective without pairs."
            )

        # 2. What is trained, as it begins or as it was when the last commit was written
        commit = yield from self.newest_commit()
        if commit:
            setup = load_setup(commit, self.spec, self.device)
        else:
            setup = create_setup(self.spec, tokenizer, self.device)
        set_dropout(setup.objective.modules, self.spec.running.dropout)
        optimiser = adamw(setup.objective.modules, self.spec.learning)
        yield from self.resume(setup.objective.modules, optimiser, commit)

        # 3. What is measured
        max_positions = setup.checkpoints["model"].config.max_positions
        length_buckets = parse_buckets(self.spec.drawing.lengths, max_positions)
        held_out_batches = heldout.draw_held_out(
            shards, held_out_masks, tokenizer, count=self.spec.running.heldout_pairs, longest=max_positions
        )
        if self.spec.running.probe:
            self.probe = probes.draw_probe(shards, held_out_masks, tokenizer, longest=max_positions)

        # 4. The steps
        tokens = 0  # to learn from
        for shard, chosen in zip(shards, train_masks, strict=True):
            tokens += int(shard.tokens[chosen].sum())
        yield {
            "event": "ready",
            "documents": len(pool.first),
            "tokens": tokens,
            "heldout_documents": int(sum(mask.sum() for mask in held_out_masks)),
            "precision": "bf16" if self.bf16 else "fp32",
            "device": str(self.device),
            "threads": self.threads,
            "floors": held_out_batches.baselines(),
        }
        with self.prefetched(self.batches(pool, length_buckets, tokenizer)) as batches:
            yield from self.train_steps(setup, optimiser, batches, held_out_batches)

    def read(self) -> Generator[Event, None, tuple[Tokenizer, list[Shard]]]:
        """The text as ids, and the tokenizer that made them."""
        files = [f for f in text_files(self.spec.text) if self.spec.weight(f.name) > 0]
        yield {"event": "reading"}  # a vocabulary that is trained on the text may take a while
        tokenizer = self.tokenizer(files)
        shards: list[Shard] = []
        for result in tokenize_files(files, tokenizer, Path(self.spec.cache or CACHE)):
            if isinstance(result, Progress):
                yield {"event": "reading", "file": result.file, "documents": result.documents, "tokens": result.tokens}
            else:
                shards.append(result)
        return tokenizer, shards

    def tokenizer(self, files: list[Path]) -> Tokenizer:
        """The run's tokenizer, created in its folder when it starts. Raises ExplorerError if it has no mask token."""
        path = self.folder / "tokenizer"
        max_tokens = self.spec.size.positions
        if not path.is_dir():
            partial = self.folder / ".tokenizer.partial"
            partial.mkdir(exist_ok=True)
            source = self.spec.start or self.spec.vocabulary
            if source:
                tokenizer = Tokenizer.from_folder(Path(source), max_tokens=max_tokens)
                if tokenizer.mask is None:
                    raise ExplorerError(f"The vocabulary in {source} has no mask token, which pretraining needs.")
                tokenizer.save(partial)
            else:
                train_wordpiece(files, self.spec.size.pieces).save(str(partial / "tokenizer.json"))
            partial.replace(path)
        return Tokenizer.from_folder(path, max_tokens=max_tokens)

    def held_out_hashes(self, shards: list[Shard]) -> NDArray[np.uint64]:
        """The hashes of the run's held-out documents, chosen or copied when it starts."""
        path = self.folder / "heldout.txt"
        if not path.is_file():
            if self.spec.heldout:
                hashes = heldout.read_hashes(Path(self.spec.heldout))
            else:
                hashes = heldout.choose_hashes(shards, self.spec.running.heldout_documents)
            heldout.write_hashes(hashes, path)
        return heldout.read_hashes(path)

    def batches(self, pool: DocumentPool, length_buckets: tuple[Bucket, ...], tokenizer: Tokenizer) -> StepBatches:
        """A step's number -> its batches; text and masks depend only on seed and step."""
        spec, running = self.spec, self.spec.running
        gpu = self.device.type == "cuda"
        collator = Collator.of(tokenizer, spec.masking, 8 if gpu else 1)  # lengths that the attention of a GPU needs
        overhead = GPU_OVERHEAD if gpu else OVERHEAD

        def step_batches(step: int) -> list[MaskedBatch]:
            text_step = step % running.repeat_steps if running.repeat_steps else step
            mask_step = text_step if running.static else step
            text_rng = np.random.default_rng([running.seed, TEXT, text_step])
            mask_rng = np.random.default_rng([running.seed, MASKS, mask_step])
            examples = draw_examples(pool, length_buckets, spec.pairs, spec.drawing, running.batch_tokens, text_rng)
            return collator.batches(examples, running.piece_tokens, mask_rng, overhead)

        return step_batches

    def prefetched(self, batches: StepBatches) -> Prefetched[list[MaskedBatch]] | PrefetchedForGPU[list[MaskedBatch]]:
        """*batches*, prepared ahead of their step: by one thread, or for a GPU by processes."""
        if self.device.type == "cuda" and "fork" in get_all_start_methods():
            return PrefetchedForGPU(batches, self.state.step, processes=max(1, min(8, self.threads // 2)))
        return Prefetched(batches)

    def train_steps(
        self,
        setup: TrainingSetup,
        optimiser: torch.optim.Optimizer,
        batches: StepBatches,
        held_out: heldout.HeldOut,
    ) -> Iterator[Event]:
        """Steps, with evaluations and commits in between and at the end. A stopped run is committed but not
        evaluated."""
        spec = self.spec
        running = self.spec.running
        state = self.state
        workers = self.workers(setup)
        yield from self.snapshot_if_due(setup)
        if state.step == state.begun_step:
            yield self.evaluate(setup, held_out)
        window = Window()
        last_evaluation = last_commit = time.monotonic()
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
            if time.monotonic() - window.since >= REPORT:
                yield {"event": "steps"} | self.progress() | window.summary()
                window = Window()
            yield from self.snapshot_if_due(setup)
            if time.monotonic() - last_evaluation >= 60 * running.evaluate_minutes:
                yield self.evaluate(setup, held_out)
                last_evaluation = time.monotonic()
            if stopped := self.stop():
                break
            if time.monotonic() - last_commit >= 60 * running.commit_minutes:
                yield self.commit(setup, optimiser)
                last_commit = time.monotonic()
        if window.steps:
            yield {"event": "steps"} | self.progress() | window.summary()
        yield self.commit(setup, optimiser)
        if not stopped:
            yield self.evaluate(setup, held_out)
        yield {"event": "stopped" if stopped else "finished"} | self.progress()

    def workers(self, setup: TrainingSetup) -> DataParallel:
        """One worker per core; a single one if the forward pass draws random numbers, which would depend on the order
        of the threads."""
        running = self.spec.running
        single = self.device.type != "cpu" or running.dropout > 0 or running.objective == "replaced"
        count = 1 if single else self.threads
        torch.set_num_threads(self.threads // count)
        return DataParallel(setup.objective, count, self.device, bf16=self.bf16)

    def progress(self) -> Event:
        """The share of the stage's budget that is spent, the tokens and the hours of the run so far."""
        budget = Budget(self.spec.running.steps, self.spec.running.minutes)
        return {"share": budget.share(self.state), "tokens": self.state.tokens, "hours": self.state.seconds / 3600}

    def evaluate(self, setup: TrainingSetup, held_out: heldout.HeldOut) -> Event:
        """The metrics on the held-out text, and those of the probe if the settings ask for one."""
        start = time.monotonic()
        metrics = heldout.evaluate(setup.objective, held_out, self.device, bf16=self.bf16)
        if self.probe:
            model, causal = setup.checkpoints["model"], isinstance(setup.objective, CausalLanguage)
            metrics |= probes.evaluate_probe(self.probe, model.encoder, model.tokenizer, self.device, causal=causal)
        return {"event": "evaluated"} | self.progress() | metrics | {"seconds": time.monotonic() - start}

    def commit(self, setup: TrainingSetup, optimiser: torch.optim.Optimizer) -> Event:
        """Write a commit with the exported checkpoints."""
        running = self.spec.running
        return self.write_commit(
            lambda into: write_commit(setup, optimiser, self.state, self.threads, into, running.export),
            keep=running.keep,
        )

    def snapshot_if_due(self, setup: TrainingSetup) -> Iterator[Event]:
        """Write a snapshot if the settings ask for one at this step."""
        if self.state.step in self.spec.snapshot_steps:
            yield self.write_snapshot(lambda into: export_checkpoints(setup, into, self.spec.running.export))
