"""The Hugging Face hub: download a checkpoint by name with progress, or fail quickly with a clear error."""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bertexplorer.errors import ExplorerError
from bertexplorer.model.vocabulary import VOCABULARIES

NAME = r"[A-Za-z0-9][\w.\-]{0,95}"
REPO = re.compile(rf"{NAME}(/{NAME})?(@{NAME}(/{NAME}){{0,3}})?")  # after @: a branch, a tag or a commit
CONVERTER = "SFconvertbot"  # the hub's own account, whose pull requests add safetensors
CONVERTED = ".converted"  # the ref of such a commit in the cache; no branch can have this name
SAFETENSORS = re.compile(r"model-\d+-of-\d+\.safetensors|model\.safetensors\.index\.json")
PICKLES = re.compile(r"pytorch_model-\d+-of-\d+\.bin|pytorch_model\.bin\.index\.json")
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
TOKENIZERS = (("tokenizer.json",), *VOCABULARIES)  # one of these sets is enough
POLL_S = 0.5


@dataclass(frozen=True)
class Progress:
    """The progress of a download, in MB."""

    done: float
    total: float


def check_name(repo: str) -> None:
    """Raises ExplorerError if *repo* cannot be a hub name. Makes no request."""
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
    """The folder of *repo* on this disk; None if it is not complete. Makes no request.

    Without a revision, this is the main branch, else the hub's own conversion, else the newest snapshot without a
    name, which older versions of this app left."""
    root, revision = cache_folder(repo), repo.partition("@")[2]
    commits = {ref.relative_to(root / "refs").as_posix(): ref.read_text("utf-8") for ref in ref_files(root)}
    if revision:
        folder = root / "snapshots" / commits.get(revision, revision)
        return folder if is_complete(folder) else None
    for ref in ("main", CONVERTED):
        if ref in commits and is_complete(folder := root / "snapshots" / commits[ref]):
            return folder
    unnamed = [folder for folder in (root / "snapshots").glob("*") if folder.name not in commits.values()]
    return max(filter(is_complete, unnamed), key=lambda folder: folder.stat().st_mtime, default=None)


def conversion_note(folder: Path) -> str:
    """Who converted the weights in *folder*, for people, if it is a commit of the hub's own account; else ""."""
    ref = folder.parent.parent / "refs" / CONVERTED
    is_converted = ref.is_file() and ref.read_text("utf-8") == folder.name
    return "converted to safetensors by the hub's own account, in a pull request" if is_converted else ""


def ref_files(root: Path) -> list[Path]:
    """The files that name revisions."""
    return sorted(file for file in (root / "refs").glob("**/*") if file.is_file())


def is_complete(folder: Path) -> bool:
    """Whether the config, every shard of the weights and a tokenizer exist. A download may have been interrupted."""
    names = {file.name for file in folder.iterdir() if file.is_file()} if folder.is_dir() else set()
    single_files = ("model.safetensors", "pytorch_model.bin")
    candidates = [name for file in single_files for name in (file, f"{file}.index.json")]
    first = next((name for name in candidates if name in names), single_files[0])
    weights = [first]
    if first not in single_files:
        try:
            weights = list(json.loads((folder / first).read_text("utf-8"))["weight_map"].values())
        except (ValueError, KeyError, TypeError, AttributeError):
            return True  # loading reports what is wrong with the index
    return names.issuperset(["config.json", *weights]) and any(names.issuperset(files) for files in TOKENIZERS)


def cached_names() -> list[str]:
    """Hub names with weights on this disk."""
    from huggingface_hub.constants import HF_HUB_CACHE

    names = []
    for root in Path(HF_HUB_CACHE).glob("models--*"):
        name = root.name.removeprefix("models--").replace("--", "/")
        revisions = (ref.relative_to(root / "refs").as_posix() for ref in ref_files(root))
        names += [name, *(f"{name}@{revision}" for revision in revisions if revision != "main")]
    return sorted(name for name in names if REPO.fullmatch(name) and find_cached(name))


def download(repo: str, *, timeout_s: float, offline_names: list[str], pickles: bool = False) -> Iterator[Progress]:
    """Download *repo* at its newest commit, or NAME@REVISION, and yield the progress twice a second. Afterwards
    `find_cached` finds it. The weights are its safetensors, else those of the hub's own conversion, else, if *pickles*
    are allowed, pytorch_model.bin.

    Raises ExplorerError within twice *timeout_s* if the hub does not answer, and for an unknown, gated or unsuitable
    repository, a full disk or an interrupted transfer."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.constants import HF_HUB_CACHE
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    check_name(repo)
    pool = ThreadPoolExecutor(2)
    offline = f"Available offline: {', '.join(offline_names)}."
    try:
        name, _, revision = repo.partition("@")
        listing = pool.submit(list_files, name, revision, timeout_s)
        ref, commit, sizes = listing.result(2 * timeout_s)
        files = select_files(repo, sizes, pickles=pickles)
        total = sum(sizes[name] for name in files)
        check_disk(repo, total, Path(HF_HUB_CACHE))
        transfer = pool.submit(snapshot_download, name, revision=commit, allow_patterns=files)
        yield from progress_of(transfer, cache_folder(repo), total / 1e6)
        file = cache_folder(repo) / "refs" / ref
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(commit, "utf-8")
    except GatedRepoError as error:
        raise ExplorerError(
            f"{repo} has a licence that must first be accepted on the hub. Choose another one."
        ) from error
    except RevisionNotFoundError as error:
        raise ExplorerError(f"{name} has no revision {revision!r} on the hub. Check the spelling. {offline}") from error
    except RepositoryNotFoundError as error:
        raise ExplorerError(f"The hub has no public checkpoint called {repo}. Check the spelling. {offline}") from error
    except HfHubHTTPError as error:
        raise ExplorerError(
            f"The hub rejected the request for {repo} ({error.__class__.__name__}). Try again later. {offline}"
        ) from error
    except ExplorerError:
        raise
    except Exception as error:  # without a network, each version of the HTTP library raises another one
        raise ExplorerError(f"Cannot reach the hub for {repo} ({error.__class__.__name__}). {offline}") from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def list_files(repo: str, revision: str, timeout_s: float) -> tuple[str, str, dict[str, int]]:
    """(ref in the cache, commit, file -> its bytes) of *repo*. If its main branch has no safetensors, those of the pull
    request in which the hub's own account converted it."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    api = HfApi()

    def files_at(ref: str | None) -> tuple[str, dict[str, int]]:
        info = api.model_info(repo, revision=ref, files_metadata=True, timeout=timeout_s)
        return str(info.sha), {file.rfilename: file.size or 0 for file in info.siblings or []}

    commit, sizes = files_at(revision or None)
    if revision or weight_files(sizes):
        return revision or "main", commit, sizes
    with suppress(HfHubHTTPError, KeyError, ValueError):  # discussions are off, or a mirror has none
        for request in api.get_repo_discussions(repo, author=CONVERTER, discussion_type="pull_request"):
            if request.author == CONVERTER and request.status in ("open", "merged"):
                converted = files_at(f"refs/pr/{request.num}")
                if weight_files(converted[1]):
                    return CONVERTED, *converted
    return "main", commit, sizes


def weight_files(
    sizes: Mapping[str, int], single: str = "model.safetensors", shard: re.Pattern[str] = SAFETENSORS
) -> list[str]:
    """The weight files of one format, as one file or in shards; [] if there are none."""
    return [single] if single in sizes else [name for name in sizes if shard.fullmatch(name)]


def upload(folder: Path, repo: str, token: str) -> str:
    """Upload *folder* to the repository OWNER/NAME with the person's own *token*, which is not stored, and return its
    address. A new repository is private. Raises ExplorerError."""
    from huggingface_hub import HfApi

    if "/" not in repo:
        raise ExplorerError(f"{repo!r:.80} is not a repository on the hub; wanted OWNER/NAME, such as anna/reviews.")
    check_name(repo)
    if not token.strip():
        raise ExplorerError(
            "A Hugging Face token with write access is required. Create one at huggingface.co/settings/tokens."
        )
    try:
        api = HfApi(token=token.strip())
        address = api.create_repo(repo, private=True, exist_ok=True)
        api.upload_folder(repo_id=repo, folder_path=folder)
    except Exception as error:  # without a network, each version of the HTTP library raises another one
        raise ExplorerError(
            f"{repo} could not be uploaded ({error.__class__.__name__}). Check the name, the token and the network, "
            "then try again; nothing is lost."
        ) from error
    return str(address)


def select_files(repo: str, sizes: Mapping[str, int], *, pickles: bool = False) -> list[str]:
    """The safetensors weights, else, if *pickles* are allowed, pytorch_model.bin, as one file or in shards; and the
    small files. Raises ExplorerError if something necessary is missing."""
    bins = weight_files(sizes, "pytorch_model.bin", PICKLES)
    weights = weight_files(sizes) or (bins if pickles else [])
    if not weights:
        others = ", ".join(name for name in sizes if name.endswith((".bin", ".h5", ".msgpack"))) or "no weights"
        advice = (
            "This server does not convert pytorch_model.bin; its operator can allow that with "
            "BERTEXPLORER_PICKLE=convert."
            if bins
            else "Choose another one."
        )
        raise ExplorerError(f"{repo} has no model.safetensors (it has {others}). {advice}")
    if "config.json" not in sizes or not any(sizes.keys() >= set(names) for names in TOKENIZERS):
        missing = "tokenizer" if "config.json" in sizes else "config.json"
        raise ExplorerError(f"{repo} has no {missing}, so it cannot be used. Choose another one.")
    return weights + [name for name in SMALL_FILES if name in sizes]


def check_disk(repo: str, size: int, cache: Path) -> None:
    existing = next(folder for folder in (cache, *cache.parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    if size + 500_000_000 > free:
        raise ExplorerError(
            f"{repo} needs {size / 1e9:.1f} GB and {free / 1e9:.1f} GB are free (0.5 GB stay reserved). Make room."
        )


def progress_of(transfer: "Future[str]", folder: Path, total: float) -> Iterator[Progress]:
    """Yield the progress by the bytes on disk until *transfer* ends. Raises its error."""
    while True:
        try:
            transfer.result(POLL_S)
        except TimeoutError:
            if transfer.done():
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
