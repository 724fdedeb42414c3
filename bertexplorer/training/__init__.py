"""How a checkpoint learns, without a page: text, batches, losses, a loop of events, commits that survive a crash."""
