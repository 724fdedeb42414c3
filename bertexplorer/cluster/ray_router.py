"""Ray router: our routing in a handle of Ray Serve.

Serve's own keeps a checkpoint in the replica that has it, however busy that is. Serve pickles this module by value, so
what it counts is kept in `routing`."""

from typing import Any

from ray.serve.request_router import PendingRequest, ReplicaID, RequestRouter, RunningReplica

from bertexplorer.cluster import routing


class CheckpointRouter(RequestRouter):
    """Ranks the replicas of a call: the one that has the checkpoint, then the others by what they are working on."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.router = routing.Router()

    async def choose_replicas(
        self, candidate_replicas: list[RunningReplica], pending_request: PendingRequest | None = None
    ) -> list[list[RunningReplica]]:
        known = {replica.replica_id.unique_id: replica for replica in candidate_replicas}
        if gone := set(routing.standing.live) - known.keys():
            routing.standing.lost += len(gone)
            for name in gone:
                self.router.forget(name)
                routing.standing.in_flight.pop(name, None)
        routing.standing.live = list(known)
        if not known:
            return []
        loads = {name: float(routing.standing.in_flight[name]) for name in known}
        if pending_request is None or len(pending_request.args) < 3:
            first = min(loads, key=lambda name: loads[name])
        else:
            checkpoint, text = pending_request.args[1:3]
            first = self.router.pick(checkpoint, text, loads)
        rest = sorted(known.keys() - {first}, key=lambda name: loads[name])
        return [[known[first]], *([known[name]] for name in rest)]

    def on_request_routed(self, pending_request: PendingRequest, replica_id: ReplicaID, result: Any) -> None:
        routing.standing.in_flight[replica_id.unique_id] += 1
        routing.standing.taken.update(pending_request.args[3:4])

    def on_request_completed(self, replica_id: ReplicaID, internal_request_id: str) -> None:
        name = replica_id.unique_id
        routing.standing.in_flight[name] = max(0, routing.standing.in_flight[name] - 1)
        routing.standing.answered[name] += 1
