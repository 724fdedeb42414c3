"""Every family is in the tuple, and its table converts the name of each tensor of transformers to ours and back."""

import json
from pathlib import Path

import pytest

from bertexplorer.model import families, weight_map
from bertexplorer.model.checkpoint import translate
from bertexplorer.model.earlier_names import current_tensors
from bertexplorer.model.families import BY_MODEL_TYPE, FAMILIES
from bertexplorer.model.load import build, load
from bertexplorer.model.tensors import stored_tensors
from tests.tiny import RECIPES


def test_every_module_of_the_folder_is_in_the_tuple() -> None:
    modules = {path.stem for path in Path(families.__file__).parent.glob("*.py")} - {"__init__"}
    assert {family.__name__.rpartition(".")[2] for family in FAMILIES} == modules


def test_a_recipe_exists_for_every_model_type() -> None:
    assert {recipe.model_type for recipe in RECIPES.values()} == BY_MODEL_TYPE.keys()


@pytest.mark.parametrize("name", [name for name in RECIPES if name not in ("bert-base", "bert-classifier")])
def test_names_convert_both_ways(tiny, name: str) -> None:
    folder = tiny(name)
    hf = json.loads((folder / "config.json").read_text())
    family = BY_MODEL_TYPE[hf["model_type"]]
    stored = set(current_tensors(hf["model_type"], stored_tensors(folder)))
    config = translate(family, hf)
    modules = build(family, config, weight_map.canonical_names(family, stored))
    back = weight_map.to_published(family, modules.state_dict())
    extra = {weight_map.tied_name(family, config)} if config.tied else set()
    assert back.keys() - extra == stored - family.COPIES.keys()
    for published, parts in back.items():
        for part, ours in parts:
            assert weight_map.source_of(family, ours) == weight_map.Source(published, part, len(parts))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.MODEL_TYPES[0])
def test_a_name_of_another_family_has_no_match(family) -> None:
    assert weight_map.source_of(family, "encoder.layers.0.attention.nothing.weight") is None
    with pytest.raises(ValueError, match="no published name for somewhere.weight"):
        weight_map.to_published(family, {"somewhere.weight": None})


def test_one_file_loads_under_several_model_types(tiny, tmp_path) -> None:
    """XLM-R and CamemBERT are RoBERTa with another model_type; one file loads as all three."""
    folder = tmp_path / "renamed"
    folder.mkdir()
    for path in tiny("xlm-roberta").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    hf = json.loads((folder / "config.json").read_text())
    for model_type in ("roberta", "camembert", "xlm-roberta"):
        (folder / "config.json").write_text(json.dumps(hf | {"model_type": model_type}))
        checkpoint = load(folder, precision="fp32")
        assert checkpoint.family == model_type
        assert checkpoint.config == load(tiny("xlm-roberta"), precision="fp32").config
