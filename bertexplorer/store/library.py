"""Kept for programs that version 0.1 exported."""

from bertexplorer.store.registry import CheckpointRegistry

Library = CheckpointRegistry
