"""What a checkpoint says of a text: its answers, and the words, heads and vectors that views ask about."""
