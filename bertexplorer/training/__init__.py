"""How a checkpoint learns, without a page: text, batches, losses, a loop of events, commits that survive a crash.

task.py           what a fine-tuning task is; torch is not imported for it
learner.py        a checkpoint with a task's head: trained by the loop, answers afterwards
student.py        a checkpoint with some of the layers of another
texts.py          texts -> ids -> padded tensors, and the pass over them while learning
objective.py      what the loop trains: an objective over batches, the losses of its tasks
loop.py           a generator of what happened, step by step; saving and stopping are up to who iterates
data_parallel.py  a step's batches shared out among threads, each with gradients of its own
optimiser.py      AdamW in groups, and the learning rate along the budget
distributed.py    this process alone, or several that add up their gradients
run_driver.py     what fine-tuning and pretraining share: resume, commits, snapshots
run_process.py    a run's folder while one process works in it; stopped by a file or a signal
weights.py        weights and moments, for an exact resume
checkpointing.py  checkpoints that survive a crash, read only if whole
events.py         what a run tells while it goes on, for programs and for people
embedding.py      one vector a text, and texts in groups
ranking.py        BM25, and how good an order of passages is
interval.py       how surely a few rows tell an accuracy
features.py       other columns of a row beside its text, as numbers
extract.py        which sentences make a summary, and how near one is to another by ROUGE
language.py       what an MLM head makes of tokens: nats, perplexity, word counts alone
generate.py       a text continued or written by beam search, with keys and values kept
"""
