"""The encoder, its heads, its tokenizer, and checkpoints read and written: torch, no page."""
