"""The cache of the Hugging Face hub: which checkpoints are complete on this disk. Makes no request."""

import json
import re
from contextlib import suppress
from pathlib import Path

from bertexplorer.errors import ExplorerError
from bertexplorer.model.families import read_config
from bertexplorer.model.vocabulary import VOCABULARIES

NAME = r"[A-Za-z0-9][\w.\-]{0,95}"
REPO = re.compile(rf"{NAME}(/{NAME})?(@{NAME}(/{NAME}){{0,3}})?")  # after @: a branch, a tag or a commit
CONVERTED = ".converted"  # the ref of such a commit in the cache; no branch can have this name
WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
TOKENIZERS = (("tokenizer.json",), *VOCABULARIES)  # one of these sets is enough


def check_name(repo: str) -> None:
    """Raises ExplorerError if *repo* cannot be a hub name."""
    if not REPO.fullmatch(repo) or ".." in repo or "--" in repo.partition("@")[0]:
        raise ExplorerError(
            f"{repo!r} is not a checkpoint name. Type a hub name such as google-bert/bert-base-uncased, or the name of "
            "a folder in the models folder."
        )


def cache_folder(repo: str) -> Path:
    """The folder of *repo* in the hub's cache, whether it exists or not."""
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE) / f"models--{repo.partition('@')[0].replace('/', '--')}"


def find_cached(repo: str) -> Path | None:
    """The folder of *repo* on this disk; None if it is not complete.

    Without a revision, this is the main branch, else the hub's own conversion, else the newest snapshot without a
    name, which older versions of this app left."""
    root = cache_folder(repo)
    commits = {ref.relative_to(root / "refs").as_posix(): ref.read_text("utf-8") for ref in ref_files(root)}
    revision = repo.partition("@")[2]
    if revision:
        folder = root / "snapshots" / commits.get(revision, revision)
        return folder if is_complete(folder) else None
    for ref in ("main", CONVERTED):
        if ref in commits:
            folder = root / "snapshots" / commits[ref]
            if is_complete(folder):
                return folder
    unnamed = [folder for folder in (root / "snapshots").glob("*") if folder.name not in commits.values()]
    return max(filter(is_complete, unnamed), key=lambda folder: folder.stat().st_mtime, default=None)


def conversion_note(folder: Path) -> str:
    """Who converted the weights in *folder*, for people, if it is a commit of the hub's own account; else ""."""
    ref = folder.parent.parent / "refs" / CONVERTED
    is_converted = ref.is_file() and ref.read_text("utf-8") == folder.name
    return "converted to safetensors by the hub's own account, in a pull request" if is_converted else ""


def file_list(folder: Path) -> Path:
    """The file that names the files of the snapshot *folder*, one per line, if this app has begun to download it."""
    return folder.parent.parent / ".bertexplorer" / folder.name


def delete(file: Path) -> None:
    """Delete a file of a snapshot, and what it links to unless another snapshot does too."""
    snapshot = next(folder for folder in file.parents if folder.parent.name == "snapshots")
    name = file.relative_to(snapshot)
    blob = file.resolve()
    file.unlink(missing_ok=True)
    if not any(other.resolve() == blob for other in snapshot.parent.glob(f"*/{name}")):
        blob.unlink(missing_ok=True)


def ref_files(root: Path) -> list[Path]:
    """The files that name revisions."""
    return sorted(file for file in (root / "refs").glob("**/*") if file.is_file())


def is_complete(folder: Path) -> bool:
    """Whether the config, every shard of the weights and a tokenizer exist, and all that this app wanted to download:
    without its small files, such as tokenizer_config.json, a checkpoint would load with other settings."""
    files = [*folder.iterdir(), *folder.glob("*/*")] if folder.is_dir() else []
    names = {file.relative_to(folder).as_posix() for file in files if file.is_file()}
    indexes = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
    formats = ("model.safetensors", indexes[0], "pytorch_model.bin", indexes[1])  # in order of preference
    weights = next((name for name in formats if name in names), formats[0])
    needed = ["config.json", weights]
    with suppress(FileNotFoundError):
        needed += file_list(folder).read_text("utf-8").splitlines()
    if weights in indexes:
        try:
            needed += list(json.loads((folder / weights).read_text("utf-8"))["weight_map"].values())
        except (ValueError, KeyError, TypeError, AttributeError):
            return True  # loading reports what is wrong with the index
    return names.issuperset(needed) and any(names.issuperset(files) for files in TOKENIZERS)


def cached_names(*, pickles: bool = True) -> list[str]:
    """Hub names of a known family with weights on this disk. The cache may hold other models, of other programs.
    *pickles*: also those that have pytorch_model.bin alone."""
    from huggingface_hub.constants import HF_HUB_CACHE

    names = []
    for root in Path(HF_HUB_CACHE).glob("models--*"):
        name = root.name.removeprefix("models--").replace("--", "/")
        names.append(name)
        for ref in ref_files(root):
            revision = ref.relative_to(root / "refs").as_posix()
            if revision != "main":
                names.append(f"{name}@{revision}")
    return sorted(name for name in names if REPO.fullmatch(name) and is_usable(find_cached(name), pickles))


def is_usable(folder: Path | None, pickles: bool) -> bool:
    """Whether *folder* exists, its family is known, and its weights are of a format that is allowed."""
    if folder is None or not (pickles or any((folder / name).is_file() for name in WEIGHTS)):
        return False
    try:
        read_config(folder)
    except (ExplorerError, OSError):
        return False
    return True
