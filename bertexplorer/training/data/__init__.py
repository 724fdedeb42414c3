"""Training data: a file as rows, what is wrong with them line by line, and their division into train and dev."""
