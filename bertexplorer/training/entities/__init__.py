"""Entities: their tags, the rows that hold them, a CRF over tags, and what counts as found."""
