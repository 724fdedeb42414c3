"""Pretraining: plain text -> examples drawn on the fly -> masked words, next sentences and their rivals."""
