"""The package in Python: a checkpoint with every analysis as a method, results, lessons, runs. `bx` has its names."""
