"""All of a run: its folder, its process, the queue, its report and what is made of it. No page, no HTTP."""
