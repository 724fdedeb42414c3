"""bertexplorer serve and --version: flags override the environment, and an invalid one is reported in a sentence."""

import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from bertexplorer.cli import main
from bertexplorer.settings import QUIET
from bertexplorer.version import __version__

PATCHES, LAUNCH = "bertexplorer.web.gradio_patches", "bertexplorer.server.launch"


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The arguments of the launch; nothing is served and gradio is not imported."""
    result: dict[str, Any] = {}

    class Watched(ModuleType):
        """Records the environment when an attribute of the module is first used."""

        def __getattr__(self, name: str) -> Callable[..., int]:
            if name != "launch":
                raise AttributeError(name)
            result["environment"] = dict(os.environ)
            return self.launch_nothing

        def launch_nothing(self, library: Any, settings: Any, browse: Any = None) -> int:
            result.update(settings=settings, browse=browse)
            return 0

    monkeypatch.setattr(os, "environ", {k: v for k, v in os.environ.items() if not k.startswith("BERTEXPLORER_")})
    monkeypatch.setitem(sys.modules, PATCHES, ModuleType(PATCHES))
    monkeypatch.setitem(sys.modules, LAUNCH, Watched(LAUNCH))
    return result


def test_by_default_only_this_machine_is_served_and_variables_change_that(launched: dict[str, Any]) -> None:
    assert main(["serve"]) == 0
    settings = launched["settings"]
    assert (settings.host, settings.port, settings.public, launched["browse"]) == ("127.0.0.1", 7860, False, None)
    os.environ |= {"BERTEXPLORER_HOST": "10.0.0.1", "BERTEXPLORER_PORT": "8001"}
    assert main(["serve"]) == 0
    assert (launched["settings"].host, launched["settings"].port) == ("10.0.0.1", 8001)


def test_flags_override_the_environment(launched: dict[str, Any]) -> None:
    os.environ |= {"BERTEXPLORER_HOST": "10.0.0.1", "BERTEXPLORER_PORT": "many", "BERTEXPLORER_CODE": "robin-2026"}
    assert main(["serve", "--public", "--host", "0.0.0.0", "--port", "8000", "--open"]) == 0
    settings = launched["settings"]
    assert (settings.host, settings.port, settings.public, settings.code) == ("0.0.0.0", 8000, True, "robin-2026")
    assert launched["browse"] is not None


def test_gradio_is_silenced_before_its_import(launched: dict[str, Any]) -> None:
    os.environ["BERTEXPLORER_DATA"] = "/srv/explorer"
    assert main(["serve"]) == 0
    assert launched["environment"].items() >= QUIET.items()
    assert launched["environment"]["GRADIO_TEMP_DIR"] == "/srv/explorer/tmp"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "many"], "--port is 'many'; wanted a whole number, 65,535 at most."),
        (["--port", "65536"], "--port is '65536'; wanted a whole number, 65,535 at most."),
        (["--port", ""], "--port is empty; give a port, or leave the flag out."),
        (["--host", " "], "--host is empty; give a host, or leave the flag out."),
        (
            ["--port"],
            "Argument --port: expected one argument; wanted --public, --host H, --port P, --root-path PATH or --open.",
        ),
        (
            ["--pubic"],
            "Unrecognized arguments: --pubic; wanted --public, --host H, --port P, --root-path PATH or --open.",
        ),
    ],
)
def test_an_invalid_flag_is_reported_in_a_sentence(
    launched: dict[str, Any], capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["serve", *arguments]) == 2 and not launched
    assert capsys.readouterr().err == f"bertexplorer: {message}\n"


def test_an_invalid_variable_is_reported_by_its_name(
    launched: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    os.environ["BERTEXPLORER_PORT"] = "many"
    assert main(["serve", "--host", "127.0.0.1"]) == 2 and not launched
    assert capsys.readouterr().err.startswith("bertexplorer: BERTEXPLORER_PORT is 'many'")


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out == f"bertexplorer {__version__}\n"
