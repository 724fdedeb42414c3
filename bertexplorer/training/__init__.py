"""How a checkpoint learns, independent of the page: text, batches, losses, a loop of events, commits that survive a
crash."""
