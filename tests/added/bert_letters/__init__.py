"""A package that brings a view to BERT Explorer."""
