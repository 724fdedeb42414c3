"""Fine-tuning: rows -> a task's learner -> a run in a folder."""
