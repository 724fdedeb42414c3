"""The checkpoint families: each a table of names and a config, found by the model_type of a config.json.

bert.py        BERT: the family that all others are described against
roberta.py     RoBERTa, XLM-R and CamemBERT: positions start after the padding id
electra.py     ELECTRA: a generator that fills masks, a discriminator that spots replaced tokens
distilbert.py  DistilBERT: half the layers, no segments and no pooler
albert.py      ALBERT: one layer, applied again and again
mpnet.py       MPNet: a learned number for each distance adds to the attention scores
deberta.py     DeBERTa-v2 and v3: a vector for each distance meets queries and keys
modernbert.py  ModernBERT: rotary positions, gated feed-forward, mostly local attention
"""

from types import ModuleType

from bertexplorer.model.families import albert, bert, deberta, distilbert, electra, modernbert, mpnet, roberta

FAMILIES: tuple[ModuleType, ...] = (bert, roberta, electra, distilbert, albert, mpnet, deberta, modernbert)
BY_MODEL_TYPE: dict[str, ModuleType] = {name: family for family in FAMILIES for name in family.MODEL_TYPES}
