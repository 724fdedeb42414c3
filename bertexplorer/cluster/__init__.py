"""Answers and runs in other processes: workers on this machine, or actors on a Ray cluster.

backends.py        creates the backend of answers and the launcher of runs that the settings ask for
wire.py            calls, replies and settings as bytes
routing.py         which replica answers a call: one that has the checkpoint and is not much busier than the others
replica.py         an engine in another process, with its own checkpoints, queues and caches
worker_pool.py     the backend of N workers on this machine, which are restarted when they die
worker_link.py     the server's side of one worker: its process and its pending calls
worker.py          the process of a worker: reads calls, writes replies
ray_connection.py  the connection to a Ray cluster, which must need a token
ray_backend.py     the backend of Ray Serve: replicas on this machine or on a cluster
ray_router.py      our routing as a request router of Ray Serve
ray_runs.py        the process of a run on a node of a Ray cluster
remote_folder.py   the folder of a run on object storage: complete states, logs in parts, a single writer
synced_run.py      a run whose folder is synchronized with its node over object storage
check.py           what is wrong with the nodes of a cluster, and what to do
"""
