"""The analyses that fill masks in one text, for the tests of bad input, receipts and figures."""

from bertexplorer.analysis import contrast, decoding, fill_mask, left_context, pseudo_likelihood, template

FILLING = (fill_mask, decoding, pseudo_likelihood, contrast, left_context, template)
