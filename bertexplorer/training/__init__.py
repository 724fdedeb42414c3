"""How a checkpoint learns, independent of the page: text, batches, losses, a loop of events, commits that survive a
crash.

task.py           the interface of a fine-tuning task; does not import torch
learner.py        a checkpoint with a task's head; the base class of training/learners
student.py        a checkpoint made of some layers of another one
texts.py          texts -> ids -> padded tensors, and the forward pass in training
objective.py      what the loop trains: an objective over batches, the losses of its tasks
loop.py           the training loop, a generator of steps; the next step's batches are prepared in a thread
data_parallel.py  a step's batches divided among threads and processes, whose gradients are summed
optimiser.py      AdamW in groups, and the schedule of the learning rate
run_driver.py     the base class of fine-tuning and pretraining runs: resume, commits, snapshots
run_process.py    a run's folder while a process works in it: its lock, its log, the request to stop
ownership.py      which process owns a run, if it may run on several machines
checkpointing.py  checkpoints that survive a crash, read only if complete and undamaged
events.py         the log of a run: JSON lines for programs, text for people
answer_windows.py windows of a question and a part of its passage; their best spans
entities.py       named entities: tags as entities and back, scores
embedding.py      one vector per text; groups of texts
ranking.py        BM25 and metrics of a ranking
language.py       the predictions of an MLM head: nats, perplexity, the unigram baseline
generate.py       sampling and beam search with a key-value cache
"""
