"""Answers from further processes: workers on this machine, or replicas on a Ray cluster.

wire.py         calls, replies and settings as bytes
routing.py      which replica answers a call: one that has the checkpoint and is not much busier than the others
check.py        what is wrong with the nodes of a cluster, and what to do
ray_backend.py  the backend of Ray Serve: replicas on this machine or on a cluster
ray_replica.py  a replica there
ray_router.py   our routing, in a handle of Ray Serve
ray_runs.py     the process of a run on a node of a Ray cluster
remote_folder.py  the folder of a run on object storage: whole states, logs in parts, one owner
carried_run.py  a run whose folder goes to a node and back over object storage
replica.py      what answers calls in a further process: checkpoints, queues and caches of its own
worker.py       the process of a worker: frames in, frames out
worker_link.py  the front's end of one worker: its process, what is in flight there, and its end
backends.py     where a server computes, by its settings
workers.py      the backend of N workers on this machine, which are started again when they die
"""
