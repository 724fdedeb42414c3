"""Runs for others: started, watched and kept for the people of a server. No page, no HTTP."""
