"""A class that votes, and lectures, whose steps are views, votes and lessons. No page, no HTTP."""
