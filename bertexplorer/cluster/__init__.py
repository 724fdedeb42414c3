"""Answers and runs in other processes: workers on this machine, or actors on a Ray cluster."""
