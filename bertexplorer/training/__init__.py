"""How a checkpoint learns, independent of the page: text, batches, losses, a loop of events, commits that survive a
crash.

task.py           what a fine-tuning task is; torch is not imported for it
learner.py        a checkpoint with a task's head; the base class of training/learners
student.py        a checkpoint made of some of another's layers
texts.py          texts -> ids -> padded tensors, and the pass over them while learning
objective.py      what the loop trains: an objective over batches, the losses of its tasks
loop.py           the training loop, a generator of steps; the caller saves, evaluates and stops
data_parallel.py  a step's batches divided among threads, each with its own gradients
prefetch.py       the next step's batches, made in a thread meanwhile
optimiser.py      AdamW in groups, and the learning rate along the budget
distributed.py    one process, or several that sum their gradients
run_driver.py     what fine-tuning and pretraining share: resume, commits, snapshots
run_process.py    a run's folder while a process works in it: its lock, its log, the request to stop
epoch.py          which process owns a run, if it may run on several machines
weights.py        weights and moments, for an exact resume
checkpointing.py  checkpoints that survive a crash, read only if whole
events.py         the log of a run: JSON lines for programs, text for people
embedding.py      one vector per text; groups of texts
ranking.py        BM25 and metrics of a ranking
interval.py       confidence interval of an accuracy
features.py       other columns of a row as numbers
extract.py        choosing the sentences of a summary; ROUGE
language.py       the predictions of an MLM head: nats, perplexity, the unigram baseline
generate.py       sampling and beam search with a key-value cache
"""
