"""Ray router: our routing as a request router of Ray Serve.

Serve's own router sends a checkpoint to the replica that has it, however busy that is. Serve pickles this module by
value, so the counters are in `routing`, which it pickles by reference: use them as `routing.replica_stats` only."""

from typing import Any

from ray.serve.request_router import PendingRequest, ReplicaID, RequestRouter, RunningReplica

from bertexplorer.cluster import routing


class CheckpointRouter(RequestRouter):
    """Ranks the replicas for a call: first the one that `Router` picks, then the others by load."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.router = routing.Router()

    async def choose_replicas(
        self, candidate_replicas: list[RunningReplica], pending_request: PendingRequest | None = None
    ) -> list[list[RunningReplica]]:
        """The replicas in the order in which Serve tries them, each in a list of its own."""
        # 1. Which replicas live.
        replicas = {replica.replica_id.unique_id: replica for replica in candidate_replicas}
        if dead := set(routing.replica_stats.live) - replicas.keys():
            routing.replica_stats.lost += len(dead)
            for name in dead:
                self.router.forget(name)
                routing.replica_stats.in_flight.pop(name, None)
        routing.replica_stats.live = list(replicas)
        if not replicas:
            return []
        # 2. Their order for this call.
        loads = {name: float(routing.replica_stats.in_flight[name]) for name in replicas}
        if pending_request is None or len(pending_request.args) < 3:
            first = min(loads, key=lambda name: loads[name])
        else:
            checkpoint, text = pending_request.args[1:3]
            first = self.router.pick(checkpoint, text, loads)
        others = sorted(replicas.keys() - {first}, key=lambda name: loads[name])
        return [[replicas[name]] for name in (first, *others)]

    def on_request_routed(self, pending_request: PendingRequest, replica_id: ReplicaID, result: Any) -> None:
        routing.replica_stats.in_flight[replica_id.unique_id] += 1
        routing.replica_stats.routed.update(pending_request.args[3:4])

    def on_request_completed(self, replica_id: ReplicaID, internal_request_id: str) -> None:
        name = replica_id.unique_id
        routing.replica_stats.in_flight[name] = max(0, routing.replica_stats.in_flight[name] - 1)
        routing.replica_stats.answered[name] += 1
