"""A static site: the explorer as a folder of files, with the checkpoint running in the visitor's browser."""
