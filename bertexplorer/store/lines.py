"""Kept for programs that version 0.1 exported."""

from bertexplorer.store.text_uploads import TextUploads

LineStore = TextUploads
