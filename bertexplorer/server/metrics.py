"""Metrics of this server for Prometheus."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from bertexplorer.api.calls import ReplicaStatus
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
            "Time from a request to the end of its answer, without streams, which wait for people",
            ["route"],
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.open = Gauge("bertexplorer_open_requests", "Requests in progress", ["route"], registry=self.registry)
        ProcessCollector(registry=self.registry)  # memory, processor seconds, open files

    def gauge(self, name: str, about: str, value: Callable[[], float]) -> None:
        """Register a number that is read whenever the metrics are, such as the length of a queue."""
        Gauge(f"bertexplorer_{name}", about, registry=self.registry).set_function(value)

    def watch(self, scheduler: ComputeScheduler, queues: RequestQueues) -> None:
        """Register the numbers of the engine."""

        def passes() -> int:
            return sum(scheduler.batches.values())

        def texts() -> int:
            return sum(size * times for size, times in scheduler.batches.copy().items())

        about_texts = "Texts in those passes; divided by the number of passes, this is the mean batch size"
        self.gauge("passes", "Passes through an encoder for one text or several", passes)
        self.gauge("passed_texts", about_texts, texts)
        for name, queue in (("quick", queues.quick), ("slow", queues.slow)):
            self.gauge(f"{name}_waiting", f"Waiting answers of {name} views", partial(getattr, queue, "waiting"))
            self.gauge(f"{name}_refused", f"Refused answers of {name} views", partial(getattr, queue, "refused"))
            self.gauge(
                f"{name}_mean_seconds", f"Mean time of an answer of {name} views", partial(getattr, queue, "mean_s")
            )

    def watch_replicas(self, replicas: Callable[[], Sequence[ReplicaStatus]]) -> None:
        """Register the numbers of the processes that answer for this server."""
        self.registry.register(ReplicaCollector(replicas))

    def text(self) -> str:
        """All numbers, as Prometheus reads them."""
        return generate_latest(self.registry).decode()


class ReplicaCollector(Collector):
    """Collects the numbers of each process that answers for this server."""

    def __init__(self, replicas: Callable[[], Sequence[ReplicaStatus]]) -> None:
        self.replicas = replicas

    def collect(self) -> Iterator[Metric]:
        """The numbers as they are now."""
        label = ["replica"]
        answered = CounterMetricFamily("bertexplorer_replica_requests", "Requests answered by a replica", labels=label)
        restarts = CounterMetricFamily("bertexplorer_replica_restarts", "Ends of a replica's process", labels=label)
        in_flight = GaugeMetricFamily("bertexplorer_replica_in_flight", "Requests given to a replica", labels=label)
        ready = GaugeMetricFamily("bertexplorer_replica_ready", "Whether a replica has answered", labels=label)
        for status in self.replicas():
            answered.add_metric([status.name], status.answered)
            restarts.add_metric([status.name], status.restarts)
            in_flight.add_metric([status.name], status.in_flight)
            ready.add_metric([status.name], status.ready)
        yield from (answered, restarts, in_flight, ready)
