"""The page: one text on a workbench, many views of it below."""
