"""What is on disk: checkpoints, those of the hub, uploads and the search index."""
