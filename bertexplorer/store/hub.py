"""The Hugging Face hub: download a checkpoint by name with progress, or fail quickly with a clear error."""

import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, TimeoutError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, Literal, TypeVar

from bertexplorer.errors import ExplorerError
from bertexplorer.model.families import read_config
from bertexplorer.store import sentence_files
from bertexplorer.store.convert import digest, published_digest
from bertexplorer.store.hub_cache import CONVERTED, TOKENIZERS, cache_folder, check_name, delete, file_list

CONVERTER = "SFconvertbot"  # the hub's own account, whose pull requests add safetensors
SMALL_FILES = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "sentencepiece.bpe.model",
    "spiece.model",
    "spm.model",
    "tokenizer.model",
    "artifact.metadata",
    "README.md",
)
POLL_S = 0.5
DAY_S = 86_400
T = TypeVar("T")


@dataclass(frozen=True)
class WeightFormat:
    """How the weight files of one format are called."""

    single: str  # of weights in one file
    shard: re.Pattern[str]  # of weights in several, and of their index


SAFETENSORS = WeightFormat(
    single="model.safetensors",
    shard=re.compile(r"model-\d+-of-\d+\.safetensors|model\.safetensors\.index\.json"),
)
PICKLED = WeightFormat(
    single="pytorch_model.bin",
    shard=re.compile(r"pytorch_model-\d+-of-\d+\.bin|pytorch_model\.bin\.index\.json"),
)


@dataclass(frozen=True)
class Listing:
    """The files of a repository at one commit."""

    commit: str
    sizes: dict[str, int]  # file -> its bytes
    pickled_blobs: dict[str, str | None]  # weight file that is a pickle -> the hash of its content


@dataclass(frozen=True)
class Progress:
    """The progress of a download, in MB."""

    done: float
    total: float


def download(
    repo: str, *, timeout_s: float, offline_names: list[str], pickles: bool = False, as_operator: bool = True
) -> Iterator[Progress]:
    """Download *repo* at its newest commit, or NAME@REVISION, and yield the progress twice a second. Afterwards
    `hub_cache` finds it. The weights are its safetensors, else those of the hub's own conversion, else, if *pickles*
    are allowed, pytorch_model.bin. *as_operator*: with the token of the person who runs this process, if there is one.

    Raises ExplorerError within twice *timeout_s* if the hub does not answer, and for an unknown, gated or unsuitable
    repository, a full disk, and a transfer that breaks off or is not what the hub published."""
    from huggingface_hub.constants import HF_HUB_CACHE

    check_name(repo)
    name, _, revision = repo.partition("@")
    token: Literal[False] | None = None if as_operator else False  # None: the one in HF_TOKEN or of `hf auth login`
    # 1. What the repository has, and whether it can be used.
    with hub_errors(
        repo,
        offline_names,
        as_operator,
        problem=f"Cannot reach the hub for {repo}",
        todo="Check the network, or try again later.",
    ):
        listed = in_background(list_files, name, revision, timeout_s, token, pickles)
        ref, listing = listed.result(2 * timeout_s)
        files = select_files(repo, listing.sizes, pickles=pickles)
        snapshot = cache_folder(repo) / "snapshots" / listing.commit
        missing_bytes = sum(listing.sizes[file] for file in files if not (snapshot / file).is_file())
        check_disk(repo, missing_bytes, Path(HF_HUB_CACHE))
        with suppress(TimeoutError):  # too slow to know beforehand; loading checks it again
            in_background(check_family, repo, listing.commit, token).result(2 * timeout_s)
    # 2. Its files.
    with hub_errors(
        repo,
        offline_names,
        as_operator,
        problem=f"The download of {repo} broke off",
        todo="Try again: the files that have arrived are kept.",
    ):
        transfer = in_background(fetch, repo, ref, listing.commit, files, token)
        yield from progress_of(transfer, cache_folder(repo), total=missing_bytes / 1e6)


@contextmanager
def hub_errors(repo: str, offline_names: list[str], as_operator: bool, *, problem: str, todo: str) -> Iterator[None]:
    """Turn errors of the hub into an ExplorerError. *problem* and *todo*: its words for an error of the network."""
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    name, _, revision = repo.partition("@")
    offline = f"Available offline: {', '.join(offline_names)}."
    try:
        yield
    except GatedRepoError as error:
        advice = "The operator of this page can download it on the server; else choose another one."
        if as_operator:
            advice = "Accept it there and set HF_TOKEN to your token, or choose another one."
        raise ExplorerError(f"{repo} has a licence that must first be accepted on the hub. {advice}") from error
    except RevisionNotFoundError as error:
        raise ExplorerError(f"{name} has no revision {revision!r} on the hub. Check the spelling. {offline}") from error
    except RepositoryNotFoundError as error:
        raise ExplorerError(f"The hub has no public checkpoint called {repo}. Check the spelling. {offline}") from error
    except OfflineModeIsEnabled as error:
        raise ExplorerError(f"HF_HUB_OFFLINE is set, so {repo} cannot be downloaded. Unset it. {offline}") from error
    except HfHubHTTPError as error:
        refusal = refusal_of(error.response)
        raise ExplorerError(f"The hub rejected the request for {repo}: {refusal} {offline}") from error
    except ExplorerError:
        raise
    except Exception as error:  # without a network, each version of the HTTP library raises another one
        raise ExplorerError(f"{problem} ({type(error).__name__}). {todo} {offline}") from error


def fetch(repo: str, ref: str, commit: str, files: list[str], token: Literal[False] | None) -> None:
    """Download *files* of *repo* at *commit*, check them, and name the commit *ref* in the cache.

    Raises ConnectionError if files are missing afterwards, ExplorerError as `check_content` does, and the errors of the
    hub."""
    from huggingface_hub import snapshot_download

    root = cache_folder(repo)
    snapshot = root / "snapshots" / commit
    ref_file = root / "refs" / ref
    for file in (file_list(snapshot), ref_file):
        file.parent.mkdir(parents=True, exist_ok=True)
    file_list(snapshot).write_text("\n".join(files), "utf-8")
    for file in (root / "blobs").glob("*.incomplete"):
        with suppress(FileNotFoundError):  # it was just renamed
            if file.stat().st_mtime < time.time() - DAY_S:  # of a process that was killed; they are never continued
                file.unlink()
    snapshot_download(repo.partition("@")[0], revision=commit, allow_patterns=files, token=token)
    if not all((snapshot / name).is_file() for name in files):  # snapshot_download is content with what it has
        raise ConnectionError("files are missing")
    check_content(repo, [snapshot / name for name in files])
    ref_file.write_text(commit, "utf-8")


def in_background(call: "Callable[..., T]", *arguments: Any) -> "Future[T]":
    """What *call* returns for *arguments*, or raises, from a thread of its own: it may hang without holding up other
    calls, or the end of the process."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call(*arguments))
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future


def refusal_of(response: Any) -> str:
    """What a refusal of the hub, an HTTP response, means and what to do about it."""
    status = response.status_code
    if status == 429:
        wait = str(response.headers.get("Retry-After", ""))
        when = f"in {int(wait):,} seconds" if wait.isdecimal() else "in a few minutes"
        return f"it has received too many requests from here. Try again {when}."
    if status == 401:
        return "it does not accept your token. Renew the one in HF_TOKEN or of `hf auth login`, or remove it."
    return f"status {status}. Try again later."


def check_content(repo: str, files: Iterable[Path]) -> None:
    """Raises ExplorerError for a file that is not what the hub published, after deleting it."""
    for file in files:
        published = published_digest(file)
        if published and published != digest(file):
            delete(file)
            raise ExplorerError(
                f"{file.name} of {repo} is not the file that the hub published, so it was deleted: its SHA-256 is not "
                f"{published[:12]}…. Try again."
            )


def list_files(
    repo: str, revision: str, timeout_s: float, token: Literal[False] | None, pickles: bool
) -> tuple[str, Listing]:
    """(ref in the cache, the files) of *repo*. If its main branch has no safetensors, those of the pull request in
    which the hub's own account converted it, unless the weights of the branch have changed since. Without an answer on
    pull requests, those of the main branch if *pickles* are allowed, else raises TimeoutError."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    api = HfApi(token=token)
    listing = files_at(api, repo, revision or None, timeout_s)
    if revision:
        return revision, listing
    if weight_files(listing.sizes, SAFETENSORS):
        return "main", listing
    ignored = [HfHubHTTPError, KeyError, ValueError]  # discussions are off, or a mirror has none
    if pickles:
        ignored.append(TimeoutError)
    with suppress(*ignored):
        search = in_background(find_conversion, api, repo, listing, timeout_s)  # which has no limit in time itself
        conversion = search.result(0.8 * timeout_s)
        if conversion is not None:
            return CONVERTED, conversion
    return "main", listing


def files_at(api: Any, repo: str, ref: str | None, timeout_s: float) -> Listing:
    """The files of *repo* at *ref*, a branch, a tag, a commit or a pull request; None: its main branch."""
    info = api.model_info(repo, revision=ref, files_metadata=True, timeout=timeout_s)
    files = {file.rfilename: file for file in info.siblings or []}
    sizes = {name: file.size or 0 for name, file in files.items()}
    blobs = {name: files[name].blob_id for name in weight_files(sizes, PICKLED)}
    return Listing(commit=str(info.sha), sizes=sizes, pickled_blobs=blobs)


def find_conversion(api: Any, repo: str, original: Listing, timeout_s: float) -> Listing | None:
    """The files of the pull request in which the hub's own account converted the weights of *original*, if any."""
    for request in api.get_repo_discussions(repo, author=CONVERTER, discussion_type="pull_request"):
        if request.author != CONVERTER or request.status not in ("open", "merged"):
            continue
        listing = files_at(api, repo, f"refs/pr/{request.num}", timeout_s)
        blobs = listing.pickled_blobs  # of the weights that were converted
        same = all(blobs.get(name, blob) == blob for name, blob in original.pickled_blobs.items())
        if same and weight_files(listing.sizes, SAFETENSORS):
            return listing
    return None


def check_family(repo: str, commit: str, token: Literal[False] | None) -> None:
    """Raises ExplorerError if the config.json of *repo* says that its weights would be of no use here."""
    from huggingface_hub import hf_hub_download

    file = Path(hf_hub_download(repo.partition("@")[0], "config.json", revision=commit, token=token))
    try:
        read_config(file.parent)
    except ExplorerError as error:
        raise ExplorerError(f"{repo} was not downloaded: {error}") from error


def weight_files(names: Iterable[str], format: WeightFormat) -> list[str]:
    """Those of *names* that are weights of this *format*, one file or its shards; [] if there are none."""
    names = list(names)
    if format.single in names:
        return [format.single]
    return [name for name in names if format.shard.fullmatch(name)]


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
    small files, with those of a sentence encoder. Raises ExplorerError if something necessary is missing."""
    weights = weight_files(sizes, SAFETENSORS)
    pickled = weight_files(sizes, PICKLED)
    if not weights and pickles:
        weights = pickled
    if not weights:
        others = ", ".join(name for name in sizes if name.endswith((".bin", ".h5", ".msgpack"))) or "no weights"
        lack = "neither model.safetensors nor pytorch_model.bin"
        advice = "Choose another one."
        if pickled:
            lack = "no model.safetensors"
            advice = (
                "This server does not convert pytorch_model.bin; its operator can allow that with "
                "BERTEXPLORER_PICKLE=convert."
            )
        raise ExplorerError(f"{repo} has {lack} (it has {others}). {advice}")
    if "config.json" not in sizes or not any(sizes.keys() >= set(names) for names in TOKENIZERS):
        missing = "tokenizer" if "config.json" in sizes else "config.json"
        raise ExplorerError(f"{repo} has no {missing}, so it cannot be used. Choose another one.")
    return weights + [name for name in SMALL_FILES if name in sizes] + sentence_files.select_files(sizes)


def check_disk(repo: str, size: int, cache: Path) -> None:
    """Raises ExplorerError if *size* bytes and a reserve do not fit on the disk of the folder *cache*."""
    existing = next(folder for folder in (cache, *cache.parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    if size + 500_000_000 > free:
        raise ExplorerError(
            f"{repo} needs {size / 1e9:.1f} GB and {free / 1e9:.1f} GB are free (0.5 GB stay reserved). Make room."
        )


def progress_of(transfer: "Future[None]", folder: Path, total: float) -> Iterator[Progress]:
    """Yield the progress by the new bytes below *folder* until *transfer* ends. *total*: in MB. Raises its error."""
    before = bytes_below(folder / "blobs")
    while True:
        try:
            transfer.result(POLL_S)
        except TimeoutError:
            if transfer.done():  # the error is its own
                raise
            new_bytes = max(bytes_below(folder / "blobs") - before, 0)  # a file may have been deleted
            yield Progress(min(new_bytes / 1e6, total), total)
        else:
            yield Progress(total, total)
            return


def bytes_below(folder: Path) -> int:
    """Bytes of the files in *folder* that still exist."""
    total = 0
    for file in folder.glob("*"):
        with suppress(FileNotFoundError):  # it was just renamed
            total += file.stat().st_size
    return total
