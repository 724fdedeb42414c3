"""The learners of the tasks, by the name of their task: heads, batches, losses, metrics, answers."""
