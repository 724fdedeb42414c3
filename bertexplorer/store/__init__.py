"""Everything on disk: checkpoints, runs, uploads and the search index."""
