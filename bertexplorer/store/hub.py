"""The hub: fetch a checkpoint by name, report progress, and fail quickly with a plain answer."""

import json
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bertexplorer.errors import ExplorerError
from bertexplorer.model.vocabulary import VOCABULARIES

REPO = re.compile(r"[A-Za-z0-9][\w.\-]{0,95}(/[A-Za-z0-9][\w.\-]{0,95})?")
SMALL_FILES = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "sentencepiece.bpe.model",
    "spiece.model",
    "tokenizer.model",
    "README.md",
)
TOKENIZERS = (("tokenizer.json",), *VOCABULARIES)  # any of these will do
POLL_S = 0.5


@dataclass(frozen=True)
class Progress:
    """The progress of a download, in MB."""

    done: float
    total: float


def check_name(repo: str) -> None:
    """Raise ExplorerError if *repo* cannot be a hub name, before any request is made."""
    if not REPO.fullmatch(repo) or ".." in repo or "--" in repo:
        raise ExplorerError(
            f"{repo!r} is not a checkpoint name. Type a hub name such as google-bert/bert-base-uncased, or the name of "
            "a folder in the models folder."
        )


def cached(repo: str) -> Path | None:
    """The folder of *repo* on this disk; None if it is not complete. Makes no request.

    A download by commit leaves no ref behind, so the newest snapshot counts."""
    from huggingface_hub.constants import HF_HUB_CACHE

    snapshots = (Path(HF_HUB_CACHE) / f"models--{repo.replace('/', '--')}" / "snapshots").glob("*")
    return max(filter(whole, snapshots), key=lambda folder: folder.stat().st_mtime, default=None)


def whole(folder: Path) -> bool:
    """Whether the config, every shard of the weights and a tokenizer exist, as a download may have been
    interrupted."""
    here = {file.name for file in folder.iterdir() if file.is_file()} if folder.is_dir() else set()
    weights = ["model.safetensors"]
    index = folder / "model.safetensors.index.json"
    if weights[0] not in here and index.name in here:
        try:
            weights = list(json.loads(index.read_text("utf-8"))["weight_map"].values())
        except (ValueError, KeyError, TypeError, AttributeError):
            return True  # loading reports what is wrong with it
    return here.issuperset(["config.json", *weights]) and any(here.issuperset(names) for names in TOKENIZERS)


def cached_names() -> list[str]:
    """Hub names with weights on this disk."""
    from huggingface_hub.constants import HF_HUB_CACHE

    found = sorted(Path(HF_HUB_CACHE).glob("models--*"))
    names = [folder.name.removeprefix("models--").replace("--", "/") for folder in found]
    return [name for name in names if REPO.fullmatch(name) and cached(name)]


def download(repo: str, *, timeout_s: float, offline_names: list[str]) -> Iterator[Progress]:
    """Fetch *repo* at its newest commit, reporting progress twice a second; afterwards `cached` finds it.

    Raises ExplorerError within *timeout_s* if the hub does not answer, and for an unknown, gated or unsuitable
    repository, a full disk or a broken transfer."""
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.constants import HF_HUB_CACHE
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError

    check_name(repo)
    pool = ThreadPoolExecutor(2)
    there = f"Available offline: {', '.join(offline_names)}."
    try:
        asked = pool.submit(HfApi().model_info, repo, files_metadata=True, timeout=timeout_s)
        info = asked.result(timeout_s)
        sizes = {f.rfilename: f.size or 0 for f in info.siblings or []}
        files = wanted_files(repo, sizes)
        total = sum(sizes[name] for name in files)
        check_disk(repo, total, Path(HF_HUB_CACHE))
        work = pool.submit(snapshot_download, repo, revision=info.sha, allow_patterns=files)
        yield from watch(work, Path(HF_HUB_CACHE) / f"models--{repo.replace('/', '--')}", total / 1e6)
    except GatedRepoError as error:
        raise ExplorerError(
            f"{repo} asks for its licence to be accepted on the hub first. Choose another one."
        ) from error
    except RepositoryNotFoundError as error:
        raise ExplorerError(f"The hub has no public checkpoint called {repo}. Check the spelling. {there}") from error
    except HfHubHTTPError as error:
        raise ExplorerError(f"The hub refused {repo} ({error.__class__.__name__}). Try again later. {there}") from error
    except ExplorerError:
        raise
    except Exception as error:  # no network looks different in every version of the HTTP library
        raise ExplorerError(f"Cannot reach the hub for {repo} ({error.__class__.__name__}). {there}") from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def upload(folder: Path, repo: str, token: str) -> str:
    """Upload *folder* to the repository OWNER/NAME with the person's own *token*, which is not stored. A new
    repository is private. Returns its address. Raises ExplorerError."""
    from huggingface_hub import HfApi

    if "/" not in repo:
        raise ExplorerError(f"{repo!r:.80} is not a place on the hub; wanted OWNER/NAME, such as anna/reviews.")
    check_name(repo)
    if not token.strip():
        raise ExplorerError(
            "A Hugging Face token with write access is required. Create one at huggingface.co/settings/tokens."
        )
    try:
        api = HfApi(token=token.strip())
        address = api.create_repo(repo, private=True, exist_ok=True)
        api.upload_folder(repo_id=repo, folder_path=folder)
    except Exception as error:  # no network looks different in every version of the HTTP library
        raise ExplorerError(
            f"{repo} could not be uploaded ({error.__class__.__name__}). Check the name, the token and the network, "
            "then press again; nothing is lost."
        ) from error
    return str(address)


def wanted_files(repo: str, sizes: dict[str, int]) -> list[str]:
    """The safetensors weights, as one file or in shards, and the small files next to them. No other weight format
    counts."""
    if "model.safetensors" in sizes:
        weights = ["model.safetensors"]
    else:
        weights = [
            n for n in sizes if re.fullmatch(r"model-\d+-of-\d+\.safetensors|model\.safetensors\.index\.json", n)
        ]
    if not weights:
        held = ", ".join(n for n in sizes if n.endswith((".bin", ".h5", ".msgpack"))) or "no weights"
        raise ExplorerError(
            f"{repo} has no model.safetensors (it has {held}). Only safetensors is read; the others may run code. "
            "Convert it once with transformers' save_pretrained and put the folder into the models folder."
        )
    if "config.json" not in sizes or not any(sizes.keys() >= set(names) for names in TOKENIZERS):
        lacking = "tokenizer" if "config.json" in sizes else "config.json"
        raise ExplorerError(f"{repo} has no {lacking}, so it cannot be used. Choose another one.")
    return weights + [name for name in SMALL_FILES if name in sizes]


def check_disk(repo: str, size: int, cache: Path) -> None:
    place = next(folder for folder in (cache, *cache.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    if size + 500_000_000 > free:
        raise ExplorerError(
            f"{repo} needs {size / 1e9:.1f} GB and {free / 1e9:.1f} GB are free (0.5 GB stay reserved). Free some."
        )


def watch(work: "Future[str]", folder: Path, total: float) -> Iterator[Progress]:
    """Yield the progress by the bytes on disk until *work* ends. Raises its error, if it has one."""
    while True:
        try:
            work.result(POLL_S)
        except TimeoutError:
            if work.done():
                raise
            yield Progress(min(bytes_below(folder / "blobs") / 1e6, total), total)
        else:
            yield Progress(total, total)
            return


def bytes_below(folder: Path) -> int:
    total = 0
    for file in folder.glob("*"):
        with suppress(FileNotFoundError):  # it was just renamed
            total += file.stat().st_size
    return total
