"""Settings: folders, host, port and limits, read once from the environment."""

import ipaddress
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from bertexplorer.errors import ExplorerError

PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE.parent  # of the repository, or the folder in which packages are installed
INSTALLED = (PACKAGE / "assets").is_dir()  # from a wheel, which carries the assets inside the package
ASSETS = (PACKAGE if INSTALLED else ROOT) / "assets"
MIN_CODE_LENGTH = 6
OBSOLETE = {  # variables of 0.1 and 0.2 that no longer have an effect -> why
    name: "the search index is files in the data folder"
    for name in ("BERTEXPLORER_QDRANT_URL", "BERTEXPLORER_QDRANT_KEY")
} | {"BERTEXPLORER_SESSIONS": "the server no longer remembers open pages"}
QUOTA_MB = 2000


def user_data(platform: str, env: Mapping[str, str], home: Path) -> Path:
    """The folder for user data on *platform* (sys.platform)."""
    if platform == "win32":
        return Path(env.get("LOCALAPPDATA") or home / "AppData" / "Local") / "bertexplorer"
    if platform == "darwin":
        return home / "Library" / "Application Support" / "bertexplorer"
    folder = Path(env.get("XDG_DATA_HOME", ""))
    return (folder if folder.is_absolute() else home / ".local" / "share") / "bertexplorer"


DATA = user_data(sys.platform, os.environ, Path("~").expanduser()) if INSTALLED else ROOT / "data"


@dataclass(frozen=True)
class Settings:
    """All limits and folders. docs/serving.md lists the environment variables that change them."""

    host: str = "127.0.0.1"
    port: int = 7860
    models_dir: Path = DATA / "models"  # in which typed folder names are looked up
    data_dir: Path = DATA  # runs, uploads and the search index
    checkpoint: str = "mini"  # with which the page opens
    precision: str = "auto"
    memory_mb: int = 4096  # of loaded checkpoints; beyond this, the least recently used are evicted
    cache_mb: int = 256  # of passes over recent texts, for each loaded checkpoint
    hub_timeout_s: float = 4.5  # until the hub counts as unreachable: the page reports that within 5 s
    hosts: tuple[str, ...] = ()  # further host names of the page
    root_path: str = ""  # under which a proxy serves the page, such as /bert; it strips this before it asks
    proxies: tuple[str, ...] = ()  # addresses and networks whose X-Forwarded-For is trusted
    code: str = ""  # which each browser must enter once; empty: no code
    public: bool = False  # served to others without a code
    request_kb: int = 1000  # size of one request that is not an upload
    upload_mb: int = 25  # of all files of one upload together
    upload_files: int = 8  # of one upload
    upload_s: int = 120  # in which an upload must arrive completely
    quota_mb: int | None = None  # of the disk for the uploads and runs of one browser; see quota
    waiting: int = 50  # requests for quick views that may wait; the server rejects further ones
    tokens: int = 1_000_000  # that one answer may compute; 0: no limit
    metrics: str = "local"  # who may read /metrics, /healthz and /readyz: local, public
    log: str = "warning"  # lowest level of the log on stderr; info includes requests
    pickle: str = "auto"  # pytorch_model.bin: convert, refuse; auto: convert if this page is local
    workers: int = 0  # processes that answer; 0: the server itself answers
    worker_cores: int = 0  # of each worker; 0: workers share the cores of this machine; on Ray, each has one
    runs: str = "here"  # where runs are computed: here; ray: on the cluster
    runs_url: str = ""  # object storage that synchronizes their folders; empty: all nodes see the data folder
    ray: str = ""  # the Ray cluster on which the workers run: auto, local or an address; empty: on this machine
    lessons_dir: Path | None = None  # your own lessons, in addition to the bundled ones
    plugins: tuple[str, ...] | None = None  # views of other packages that are on; None: see server/plugins.py

    @classmethod
    def from_env(cls, env: Mapping[str, str], flags: Mapping[str, str] = MappingProxyType({})) -> "Settings":
        """Read the variables that docs/serving.md lists, such as BERTEXPLORER_PORT. *flags*: variable -> the flag that
        set it. Raises ExplorerError naming a variable or flag that cannot be used."""
        default = cls()

        def number(name: str, default: int, maximum: int) -> int:
            value = env.get(name, str(default))
            if not value.isdecimal() or int(value) > maximum:
                raise ExplorerError(
                    f"{flags.get(name, name)} is {value!r}; wanted a whole number, {maximum:,} at most."
                )
            return int(value)

        def choice(name: str, choices: tuple[str, ...]) -> str:
            value = env.get(name, choices[0]).lower()
            if value not in choices:
                raise ExplorerError(f"{name} is {value!r:.60}; wanted one of {', '.join(choices)}.")
            return value

        code = env.get("BERTEXPLORER_CODE", default.code).strip()
        if code and len(code) < MIN_CODE_LENGTH:
            raise ExplorerError(f"BERTEXPLORER_CODE has {len(code)} characters; wanted {MIN_CODE_LENGTH} at least.")
        return cls(
            host=env.get("BERTEXPLORER_HOST", default.host),
            port=number("BERTEXPLORER_PORT", default.port, 65_535),
            models_dir=Path(env.get("BERTEXPLORER_MODELS", default.models_dir)).expanduser().absolute(),
            data_dir=Path(env.get("BERTEXPLORER_DATA", default.data_dir)).expanduser().absolute(),
            lessons_dir=Path(folder).expanduser().absolute() if (folder := env.get("BERTEXPLORER_LESSONS")) else None,
            checkpoint=env.get("BERTEXPLORER_CHECKPOINT", default.checkpoint),
            precision=env.get("BERTEXPLORER_PRECISION", default.precision),
            memory_mb=number("BERTEXPLORER_MEMORY_MB", default.memory_mb, 10_000_000),
            cache_mb=number("BERTEXPLORER_CACHE_MB", default.cache_mb, 10_000_000),
            hosts=tuple(name.strip().lower() for name in env.get("BERTEXPLORER_HOSTS", "").split(",") if name.strip()),
            proxies=parse_proxies(env.get("BERTEXPLORER_PROXIES", "")),
            root_path=check_root_path(env.get("BERTEXPLORER_ROOT_PATH", ""), flags),
            code=code,
            request_kb=number("BERTEXPLORER_REQUEST_KB", default.request_kb, 1_000_000),
            upload_mb=number("BERTEXPLORER_UPLOAD_MB", default.upload_mb, 1_000_000),
            upload_files=number("BERTEXPLORER_UPLOAD_FILES", default.upload_files, 1000),
            upload_s=number("BERTEXPLORER_UPLOAD_S", default.upload_s, 86_400),
            quota_mb=number("BERTEXPLORER_QUOTA_MB", 0, 1_000_000_000) if "BERTEXPLORER_QUOTA_MB" in env else None,
            waiting=number("BERTEXPLORER_WAITING", default.waiting, 1000),
            tokens=number("BERTEXPLORER_TOKENS", default.tokens, 1_000_000_000),
            workers=number("BERTEXPLORER_WORKERS", default.workers, 1000),
            worker_cores=number("BERTEXPLORER_WORKER_CORES", default.worker_cores, 1000),
            runs=choice("BERTEXPLORER_RUNS", ("here", "ray")),
            runs_url=check_url(env.get("BERTEXPLORER_RUNS_URL", default.runs_url).strip()),
            ray=env.get("BERTEXPLORER_RAY", default.ray).strip(),
            metrics=choice("BERTEXPLORER_METRICS", ("local", "public")),
            pickle=choice("BERTEXPLORER_PICKLE", ("auto", "convert", "refuse")),
            log=choice("BERTEXPLORER_LOG", ("warning", "info", "debug", "error")),
            plugins=parse_plugins(env.get("BERTEXPLORER_PLUGINS")),
        )

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the page, as far as the settings say: no proxy passes others on to it."""
        return self.loopback and not (self.hosts or self.proxies)

    @property
    def loopback(self) -> bool:
        """Whether the server accepts connections from this machine alone."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    @property
    def converts(self) -> bool:
        """Whether to convert the weights of checkpoints that have only pickles."""
        return self.local if self.pickle == "auto" else self.pickle == "convert"

    @property
    def quota(self) -> int:
        """Bytes of the disk for one browser. 0: no limit, the default if only this machine can reach the page."""
        usual = 0 if self.local else QUOTA_MB
        return 1_000_000 * (usual if self.quota_mb is None else self.quota_mb)

    @property
    def uploads_dir(self) -> Path:
        """The folder of uploaded files and generated downloads, which stay for a day."""
        return self.data_dir / "tmp"


def check_root_path(value: str, flags: Mapping[str, str] = MappingProxyType({})) -> str:
    """*value* with a slash before it and none after it; "" for none. Raises ExplorerError for anything but a path."""
    path = f"/{value.strip().strip('/')}" if value.strip().strip("/") else ""
    if not re.fullmatch(r"(/[\w.~-]+)*", path, re.ASCII):
        name = flags.get("BERTEXPLORER_ROOT_PATH", "BERTEXPLORER_ROOT_PATH")
        raise ExplorerError(f"{name} is {value!r:.60}; wanted a path such as /bert or /user/ada/proxy/7860.")
    return path


def check_url(value: str) -> str:
    """Return *value*. Raises ExplorerError if it is not an address of object storage."""
    if value and not re.fullmatch(r"[a-z0-9]+://\S+", value):
        raise ExplorerError(f"BERTEXPLORER_RUNS_URL is {value!r:.60}; wanted an address such as s3://bucket/runs.")
    return value


def parse_proxies(value: str) -> tuple[str, ...]:
    """Addresses and networks, separated by commas. Raises ExplorerError for anything else."""
    networks = tuple(part.strip() for part in value.split(",") if part.strip())
    for network in networks:
        try:
            ipaddress.ip_network(network)
        except ValueError as error:
            raise ExplorerError(
                f"BERTEXPLORER_PROXIES names {network!r:.60}; wanted addresses or networks, such as "
                "127.0.0.1, 10.0.0.0/8."
            ) from error
    return networks


def parse_plugins(value: str | None) -> tuple[str, ...] | None:
    """The names in BERTEXPLORER_PLUGINS, separated by commas; None if it is not set."""
    if value is None:
        return None
    return tuple(part.strip().replace("-", "_") for part in value.split(",") if part.strip())


QUIET = {  # so that nothing leaves the machine unless a person types a hub name
    "GRADIO_ANALYTICS_ENABLED": "False",
    "GRADIO_RUN_HISTORY": "False",
    "GRADIO_ANALYTICS_CACHE_FREQUENCY": "1000000",  # otherwise gradio summarizes all events at every event
    "GRADIO_ANALYTICS_MAX_EVENTS": "100",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


def be_quiet() -> None:
    """Set QUIET in the environment, where it says nothing else. Libraries read it when they are imported."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
