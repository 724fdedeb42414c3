"""What lives on disk: checkpoints, found, downloaded and loaded once."""
