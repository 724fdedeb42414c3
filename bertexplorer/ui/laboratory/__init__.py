"""The pretraining laboratory: the papers' ablations, started and watched on a page of their own."""
