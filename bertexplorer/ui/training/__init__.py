"""The page on which a checkpoint learns."""
