"""Settings: folders, host, port and limits, read once from the environment."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bertexplorer.errors import ExplorerError

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT / "assets"


@dataclass(frozen=True)
class Settings:
    """Every limit in one place. The README lists the environment variables that change them."""

    host: str = "127.0.0.1"
    port: int = 7860
    models_dir: Path = ROOT / "data" / "models"  # where a typed folder name is looked up
    data_dir: Path = ROOT / "data"  # uploaded lines and the search index
    qdrant_url: str = ""  # a server to keep the search index on; empty: a folder below data_dir
    qdrant_key: str = ""
    checkpoint: str = "mini"  # that the page opens with
    precision: str = "auto"
    memory_mb: int = 4096  # loaded checkpoints beyond this are dropped, least recently used first
    cache_mb: int = 256  # passes over recent texts, kept for each loaded checkpoint
    hub_timeout_s: float = 4.5  # to find out whether the hub can be reached: the answer comes within 5 s

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "Settings":
        """Read BERTEXPLORER_HOST, _PORT, _MODELS, _DATA, _QDRANT_URL, _QDRANT_KEY, _CHECKPOINT, _PRECISION, _MEMORY_MB
        and _CACHE_MB. Raises ExplorerError naming a variable that is not such a number."""
        default = cls()

        def number(name: str, otherwise: int, most: int) -> int:
            value = env.get(name, str(otherwise))
            if not value.isdecimal() or int(value) > most:
                raise ExplorerError(f"{name} is {value!r}; wanted a whole number, {most:,} at most.")
            return int(value)

        return cls(
            host=env.get("BERTEXPLORER_HOST", default.host),
            port=number("BERTEXPLORER_PORT", default.port, 65_535),
            models_dir=Path(env.get("BERTEXPLORER_MODELS", default.models_dir)).expanduser(),
            data_dir=Path(env.get("BERTEXPLORER_DATA", default.data_dir)).expanduser(),
            qdrant_url=env.get("BERTEXPLORER_QDRANT_URL", default.qdrant_url),
            qdrant_key=env.get("BERTEXPLORER_QDRANT_KEY", default.qdrant_key),
            checkpoint=env.get("BERTEXPLORER_CHECKPOINT", default.checkpoint),
            precision=env.get("BERTEXPLORER_PRECISION", default.precision),
            memory_mb=number("BERTEXPLORER_MEMORY_MB", default.memory_mb, 10_000_000),
            cache_mb=number("BERTEXPLORER_CACHE_MB", default.cache_mb, 10_000_000),
        )


QUIET = {  # nothing leaves the machine unless a person asks for a hub name
    "GRADIO_ANALYTICS_ENABLED": "False",
    "GRADIO_RUN_HISTORY": "False",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
