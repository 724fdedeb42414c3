"""Pretraining: plain text -> examples drawn on the fly -> masked tokens, next sentences and their rivals."""
