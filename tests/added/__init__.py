"""A view and a task as a newcomer would add them, each in its own files."""
