"""The checkpoint families: each a table of names and a config, found by the model_type of a config.json."""

from types import ModuleType

from bertexplorer.model.families import bert, distilbert, electra, modernbert, roberta

FAMILIES: tuple[ModuleType, ...] = (bert, roberta, electra, distilbert, modernbert)
BY_MODEL_TYPE: dict[str, ModuleType] = {name: family for family in FAMILIES for name in family.MODEL_TYPES}
