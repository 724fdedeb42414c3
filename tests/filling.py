"""The analyses that fill masks in one text, for the tests of bad input, receipts and figures."""

from bertexplorer.views.contrast import compute as contrast
from bertexplorer.views.decoding import compute as decoding
from bertexplorer.views.fill_mask import compute as fill_mask
from bertexplorer.views.left_context import compute as left_context
from bertexplorer.views.pseudo_likelihood import compute as pseudo_likelihood
from bertexplorer.views.template import compute as template

FILLING = (fill_mask, decoding, pseudo_likelihood, contrast, left_context, template)
