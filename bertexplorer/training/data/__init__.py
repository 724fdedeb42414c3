"""Training data: files as rows, problems line by line, and the split into training and validation rows."""
