"""Answers: the rows that hold them, windows over long passages, spans out of logits, and what counts as right."""
