"""Settings are read from the environment, and an invalid one is named."""

from pathlib import Path

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.settings import ASSETS, QUIET, Settings, user_data
from tests.conftest import ROOT


def test_an_empty_environment_gives_the_defaults() -> None:
    settings = Settings.from_env({"UNRELATED": "1"})
    assert settings == Settings()
    assert settings.host == "127.0.0.1", "nobody else on the network unless asked for"
    assert QUIET["GRADIO_ANALYTICS_ENABLED"] == "False"
    assert QUIET["HF_HUB_DISABLE_TELEMETRY"] == "1"
    assert Settings().data_dir == ROOT / "data" and ASSETS == ROOT / "assets"


def test_every_variable_is_read() -> None:
    settings = Settings.from_env(
        {
            "BERTEXPLORER_HOST": "0.0.0.0",
            "BERTEXPLORER_PORT": "8000",
            "BERTEXPLORER_MODELS": "/srv/models",
            "BERTEXPLORER_DATA": "/srv/data",
            "BERTEXPLORER_LESSONS": "/srv/lessons",
            "BERTEXPLORER_CHECKPOINT": "google/x",
            "BERTEXPLORER_PRECISION": "fp32",
            "BERTEXPLORER_MEMORY_MB": "100",
            "BERTEXPLORER_CACHE_MB": "50",
        }
    )
    folders = (Path("/srv/models"), Path("/srv/data"))
    given = ("0.0.0.0", 8000, *folders, "google/x", "fp32", 100, 50)
    assert settings == Settings(*given, lessons_dir=Path("/srv/lessons"))


def test_folders_are_resolved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert Settings.from_env({"BERTEXPLORER_MODELS": "~/m"}).models_dir == Path("/home/someone/m")
    monkeypatch.chdir(tmp_path)
    assert Settings.from_env({"BERTEXPLORER_DATA": "d"}).data_dir == tmp_path / "d", "a run starts in another folder"


@pytest.mark.parametrize("name", ["BERTEXPLORER_PORT", "BERTEXPLORER_MEMORY_MB", "BERTEXPLORER_CACHE_MB"])
@pytest.mark.parametrize("value", ["", "-1", "8.5", "abc", "1e3", "0x10", "NaN", "²"])
def test_an_invalid_number_is_named(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=name) as caught:
        Settings.from_env({name: value})
    assert repr(value) in str(caught.value)
    assert "whole number" in str(caught.value)


def test_the_settings_of_the_server_are_read() -> None:
    result = Settings.from_env(
        {
            "BERTEXPLORER_HOSTS": " Bert.School.example, other ,",
            "BERTEXPLORER_PROXIES": "127.0.0.1, 10.0.0.0/8,::1",
            "BERTEXPLORER_CODE": " robin-2026 ",
            "BERTEXPLORER_REQUEST_KB": "10",
            "BERTEXPLORER_UPLOAD_MB": "11",
            "BERTEXPLORER_UPLOAD_FILES": "12",
            "BERTEXPLORER_UPLOAD_S": "13",
            "BERTEXPLORER_QUOTA_MB": "0",
            "BERTEXPLORER_WAITING": "15",
            "BERTEXPLORER_TOKENS": "16",
            "BERTEXPLORER_METRICS": "Public",
            "BERTEXPLORER_LOG": "info",
        }
    )
    assert (result.hosts, result.code, result.quota_mb) == (("bert.school.example", "other"), "robin-2026", 0)
    assert (result.request_kb, result.upload_mb, result.upload_files) == (10, 11, 12)
    assert result.upload_s == 13
    assert (result.waiting, result.tokens) == (15, 16)
    assert result.proxies == ("127.0.0.1", "10.0.0.0/8", "::1")
    assert (result.metrics, result.log) == ("public", "info")
    for name in ("BERTEXPLORER_METRICS", "BERTEXPLORER_LOG"):
        with pytest.raises(ValueError, match=f"{name}.*wanted one of"):
            Settings.from_env({name: "x"})


@pytest.mark.parametrize("value", ["*", "proxy.example", "10.0.0.1/8", "127.0.0.1 10.0.0.1"])
def test_an_invalid_proxy_address_is_named(value: str) -> None:
    with pytest.raises(ValueError, match="BERTEXPLORER_PROXIES names .*wanted addresses or networks"):
        Settings.from_env({"BERTEXPLORER_PROXIES": value})


@pytest.mark.parametrize(("host", "local"), [("127.0.0.1", 1), ("localhost", 1), ("::1", 1), ("0.0.0.0", 0), ("x", 0)])
def test_loopback_addresses_are_recognised(host: str, local: int) -> None:
    assert Settings(host).local == Settings(host).loopback == bool(local)


@pytest.mark.parametrize("behind", [{"hosts": ("bert.example",)}, {"proxies": ("127.0.0.1",)}])
def test_a_proxy_on_this_machine_makes_the_page_public(behind: dict[str, tuple[str, ...]]) -> None:
    settings = Settings("127.0.0.1", **behind)
    assert settings.loopback and not settings.local
    assert not settings.converts and settings.quota > 0, "as on a page that others can reach"


@pytest.mark.parametrize(
    ("platform", "env", "folder"),
    [
        ("linux", {}, "/home/a/.local/share/bertexplorer"),
        ("linux", {"XDG_DATA_HOME": "/srv/a"}, "/srv/a/bertexplorer"),
        ("linux", {"XDG_DATA_HOME": "relative"}, "/home/a/.local/share/bertexplorer"),
        ("darwin", {"XDG_DATA_HOME": "/srv/a"}, "/home/a/Library/Application Support/bertexplorer"),
        ("win32", {}, "/home/a/AppData/Local/bertexplorer"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/bertexplorer"),
    ],
)
def test_an_installed_app_keeps_its_data_in_the_folder_of_the_system(
    platform: str, env: dict[str, str], folder: str
) -> None:
    assert user_data(platform, env, Path("/home/a")) == Path(folder)


@pytest.mark.parametrize(
    ("value", "path"), [("", ""), ("/", ""), ("bert", "/bert"), ("/user/ada/proxy/7860/", "/user/ada/proxy/7860")]
)
def test_a_path_has_a_slash_before_it_and_none_after(value: str, path: str) -> None:
    assert Settings.from_env({"BERTEXPLORER_ROOT_PATH": value}).root_path == path


@pytest.mark.parametrize("value", ["/a b", "https://example.org/bert", "/bert?x=1"])
def test_what_is_no_path_is_named(value: str) -> None:
    with pytest.raises(ExplorerError, match="BERTEXPLORER_ROOT_PATH is .*wanted a path such as /bert"):
        Settings.from_env({"BERTEXPLORER_ROOT_PATH": value})
