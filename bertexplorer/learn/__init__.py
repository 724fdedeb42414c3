"""Lessons: questions about live views, whose answers are computed from the checkpoint in use."""
