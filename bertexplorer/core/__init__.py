"""What is asked and answered, whoever asks: the page, HTTP, MCP, the command line, a lesson, a class."""
