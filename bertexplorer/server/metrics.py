"""Metrics of this server for Prometheus."""

from collections.abc import Callable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from bertexplorer.engine.queues import RequestQueues
from bertexplorer.model.scheduler import ComputeScheduler

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Created once per server. Other parts register their own numbers with `gauge`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "bertexplorer_requests", "Requests answered", ["route", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "bertexplorer_request_seconds",
            "From a request to the end of its answer; streams, which wait for people, left out",
            ["route"],
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.open = Gauge("bertexplorer_open_requests", "Requests under way", ["route"], registry=self.registry)
        ProcessCollector(registry=self.registry)  # memory, processor seconds, open files

    def gauge(self, name: str, about: str, value: Callable[[], float]) -> None:
        """Register a number that is read whenever the metrics are, such as the length of a queue."""
        Gauge(f"bertexplorer_{name}", about, registry=self.registry).set_function(value)

    def watch(self, scheduler: ComputeScheduler, queues: RequestQueues) -> None:
        """The engine's numbers."""
        self.gauge(
            "passes", "Passes through an encoder for one text or several", lambda: sum(scheduler.batches.values())
        )
        help = "Texts that those passes were for; divided by the passes, the mean size of a batch"
        self.gauge("passed_texts", help, lambda: sum(size * times for size, times in scheduler.batches.copy().items()))
        for name, queue in (("quick", queues.quick), ("slow", queues.slow)):
            self.gauge(f"{name}_waiting", f"Answers of {name} views that wait", partial(getattr, queue, "waiting"))
            self.gauge(f"{name}_refused", f"Answers of {name} views refused", partial(getattr, queue, "refused"))
            self.gauge(f"{name}_mean_seconds", f"Time that {name} answers take", partial(getattr, queue, "mean_s"))

    def text(self) -> str:
        return generate_latest(self.registry).decode()
