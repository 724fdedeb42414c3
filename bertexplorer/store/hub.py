"""The hub: fetch a checkpoint by name, report progress, and fail quickly with a plain answer."""

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

PART = r"[A-Za-z0-9][\w.\-]{0,95}"
REPO = re.compile(rf"{PART}(/{PART})?(@{PART}(/{PART}){{0,3}})?")  # with @, a branch, a tag or a commit
CONVERTER = "SFconvertbot"  # whose pull requests add safetensors; the hub's own account
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


def folder_of(repo: str) -> Path:
    """The folder of *repo* in the hub's cache, whether it exists or not."""
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE) / f"models--{repo.partition('@')[0].replace('/', '--')}"


def cached(repo: str) -> Path | None:
    """The folder of *repo* on this disk; None if it is not complete. Makes no request.

    Without a revision, a download leaves no ref behind, so the newest snapshot counts that no other revision names."""
    root, revision = folder_of(repo), repo.partition("@")[2]
    named = {ref.relative_to(root / "refs").as_posix(): ref.read_text("utf-8") for ref in refs(root)}
    if revision:
        folder = root / "snapshots" / named.get(revision, revision)
        return folder if whole(folder) else None
    others = {sha for name, sha in named.items() if name != "main"}
    snapshots = [folder for folder in (root / "snapshots").glob("*") if folder.name not in others and whole(folder)]
    return max(snapshots, key=lambda folder: folder.stat().st_mtime, default=None)


def refs(root: Path) -> list[Path]:
    """The files that name revisions."""
    return sorted(file for file in (root / "refs").glob("**/*") if file.is_file())


def whole(folder: Path) -> bool:
    """Whether the config, every shard of the weights and a tokenizer exist, as a download may have been
    interrupted."""
    here = {file.name for file in folder.iterdir() if file.is_file()} if folder.is_dir() else set()
    singles = ("model.safetensors", "pytorch_model.bin")
    held = next((name for one in singles for name in (one, f"{one}.index.json") if name in here), singles[0])
    weights = [held]
    if held not in singles:
        try:
            weights = list(json.loads((folder / held).read_text("utf-8"))["weight_map"].values())
        except (ValueError, KeyError, TypeError, AttributeError):
            return True  # loading reports what is wrong with it
    return here.issuperset(["config.json", *weights]) and any(here.issuperset(names) for names in TOKENIZERS)


def cached_names() -> list[str]:
    """Hub names with weights on this disk."""
    from huggingface_hub.constants import HF_HUB_CACHE

    found = sorted(Path(HF_HUB_CACHE).glob("models--*"))
    names = [folder.name.removeprefix("models--").replace("--", "/") for folder in found]
    for name, root in list(zip(names, found, strict=True)):
        revisions = (ref.relative_to(root / "refs").as_posix() for ref in refs(root))
        names += [f"{name}@{revision}" for revision in revisions if revision != "main"]
    return sorted(name for name in names if REPO.fullmatch(name) and cached(name))


def download(repo: str, *, timeout_s: float, offline_names: list[str], pickles: bool = False) -> Iterator[Progress]:
    """Fetch *repo* at its newest commit, or NAME@REVISION, reporting progress twice a second; afterwards `cached`
    finds it. Weights are its safetensors, else those of the hub's own conversion, else, if *pickles* are wanted,
    pytorch_model.bin.

    Raises ExplorerError within twice *timeout_s* if the hub does not answer, and for an unknown, gated or unsuitable
    repository, a full disk or a broken transfer."""
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
    there = f"Available offline: {', '.join(offline_names)}."
    try:
        name, _, revision = repo.partition("@")
        asked = pool.submit(available, name, revision, timeout_s)
        commit, sizes = asked.result(2 * timeout_s)
        files = wanted_files(repo, sizes, pickles=pickles)
        total = sum(sizes[name] for name in files)
        check_disk(repo, total, Path(HF_HUB_CACHE))
        work = pool.submit(snapshot_download, name, revision=commit, allow_patterns=files)
        yield from watch(work, folder_of(repo), total / 1e6)
        if revision and revision != commit:
            ref = folder_of(repo) / "refs" / revision
            ref.parent.mkdir(parents=True, exist_ok=True)
            ref.write_text(commit, "utf-8")
    except GatedRepoError as error:
        raise ExplorerError(
            f"{repo} has a licence that must first be accepted on the hub. Choose another one."
        ) from error
    except RevisionNotFoundError as error:
        raise ExplorerError(f"{name} has no revision {revision!r} on the hub. Check the spelling. {there}") from error
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


def available(repo: str, revision: str, timeout_s: float) -> tuple[str, dict[str, int]]:
    """(commit, bytes of each file) of *repo*. If it has no safetensors at its newest commit, those of the pull request
    in which the hub's own account converted it."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    api = HfApi()

    def at(ref: str | None) -> tuple[str, dict[str, int]]:
        info = api.model_info(repo, revision=ref, files_metadata=True, timeout=timeout_s)
        return str(info.sha), {f.rfilename: f.size or 0 for f in info.siblings or []}

    commit, sizes = at(revision or None)
    if revision or weights_in(sizes):
        return commit, sizes
    with suppress(HfHubHTTPError, KeyError):  # discussions may be switched off
        for found in api.get_repo_discussions(repo, author=CONVERTER, discussion_type="pull_request"):
            if found.author == CONVERTER and found.status in ("open", "merged"):
                there = at(f"refs/pr/{found.num}")
                if weights_in(there[1]):
                    return there
    return commit, sizes


def weights_in(
    sizes: Mapping[str, int], single: str = "model.safetensors", shard: re.Pattern[str] = SAFETENSORS
) -> list[str]:
    """The files of weights, as one file or in shards; [] if there are none of this format."""
    return [single] if single in sizes else [name for name in sizes if shard.fullmatch(name)]


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


def wanted_files(repo: str, sizes: Mapping[str, int], *, pickles: bool = False) -> list[str]:
    """The safetensors weights, else, if *pickles* are wanted, pytorch_model.bin; as one file or in shards, with the
    small files next to them."""
    bins = weights_in(sizes, "pytorch_model.bin", PICKLES)
    weights = weights_in(sizes) or (bins if pickles else [])
    if not weights:
        held = ", ".join(n for n in sizes if n.endswith((".bin", ".h5", ".msgpack"))) or "no weights"
        advice = (
            "This page does not convert pytorch_model.bin; whoever runs it can allow that with "
            "BERTEXPLORER_PICKLE=convert."
            if bins
            else "Choose another one."
        )
        raise ExplorerError(f"{repo} has no model.safetensors (it has {held}). {advice}")
    if "config.json" not in sizes or not any(sizes.keys() >= set(names) for names in TOKENIZERS):
        lacking = "tokenizer" if "config.json" in sizes else "config.json"
        raise ExplorerError(f"{repo} has no {lacking}, so it cannot be used. Choose another one.")
    return weights + [name for name in SMALL_FILES if name in sizes]


def check_disk(repo: str, size: int, cache: Path) -> None:
    place = next(folder for folder in (cache, *cache.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    if size + 500_000_000 > free:
        raise ExplorerError(
            f"{repo} needs {size / 1e9:.1f} GB and {free / 1e9:.1f} GB are free (0.5 GB stay reserved). Make room."
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
