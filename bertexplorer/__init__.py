"""BERT Explorer."""
