"""The package: one version, declared dependencies, notices for what is vendored, and a wheel that answers anywhere."""

import ast
import os
import re
import socket
import subprocess
import sys
import sysconfig
import time
import tomllib
from pathlib import Path

import httpx
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bertexplorer import errors
from bertexplorer.errors import ExplorerError
from bertexplorer.version import __version__
from tests.conftest import ROOT
from tests.test_layers import FILES, imports

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = PYPROJECT["project"]
OPTIONAL = {name: [Requirement(one) for one in given] for name, given in PROJECT["optional-dependencies"].items()}
CORE = [Requirement(one) for one in PROJECT["dependencies"]]
INSTALLED_AS = {  # import -> package
    "PIL": "pillow",
    "grpc": "grpcio",
    "mcp_types": "mcp",
    "sklearn": "scikit-learn",
    "umap": "umap-learn",
    "yaml": "pyyaml",
    "markdown_it": "markdown-it-py",
}
THEIRS = {"ray_router.py", "widget.py"}  # modules that are imported only where their library is
PICTURES = {"components.png", "learn.png", "screenshot.png", "train.png", "views"}  # of assets/, not in a wheel


def installed_as(name: str) -> str:
    """The package that an imported name comes from."""
    return canonicalize_name(INSTALLED_AS.get(name, name))


def imported() -> dict[str, list[tuple[str, bool]]]:
    """Package -> (file, whether inside a function) of each import of it in bertexplorer/."""
    result: dict[str, list[tuple[str, bool]]] = {}
    for file in FILES:
        for name, inside in imports(ast.parse(file.read_text("utf-8"))):
            library = name.partition(".")[0]
            if library.isidentifier() and library not in {*sys.stdlib_module_names, "bertexplorer"}:
                result.setdefault(installed_as(library), []).append((str(file.relative_to(ROOT)), inside))
    return result


def names(requirements: list[Requirement]) -> set[str]:
    return {canonicalize_name(requirement.name) for requirement in requirements}


def pins(file: str) -> dict[str, str]:
    """Package -> its pinned version."""
    lines = (ROOT / file).read_text("utf-8").split()
    return {
        canonicalize_name(name.partition("[")[0]): version
        for name, _, version in (line.partition("==") for line in lines)
        if version
    }


def test_the_version_is_defined_once() -> None:
    assert PROJECT["dynamic"] == ["version"] and "version" not in PROJECT
    assert PYPROJECT["tool"]["hatch"]["version"]["path"] == "bertexplorer/version.py"
    newest = re.search(r"^## \[(.+?)\] - (\d{4}-\d\d-\d\d)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert newest and newest[1] == __version__
    assert f"\nversion: {__version__}\n" in citation and f"\ndate-released: {newest[2]}\n" in citation


@pytest.mark.parametrize(
    "file", [f"requirements{more}.txt" for more in ("", "-mcp", "-ray")] + ["tests/requirements.txt"]
)
def test_every_pin_lies_in_a_declared_range(file: str) -> None:
    ranges = {
        canonicalize_name(one.name): one for one in [*CORE, *(one for given in OPTIONAL.values() for one in given)]
    }
    for package, version in pins(file).items():
        assert package in ranges, f"{package} is pinned in {file} and not declared in pyproject.toml"
        assert ranges[package].specifier.contains(version), f"{package} {version} is outside {ranges[package]}"


def test_a_space_installs_the_pinned_torch() -> None:
    (line,) = re.findall(r"^RUN .*\btorch\b.*$", (ROOT / "space" / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    assert line.split()[-1] == f"torch=={pins('requirements.txt')['torch']}"


def test_every_import_is_a_declared_dependency() -> None:
    more = {name for given in OPTIONAL.values() for name in names(given)} - {"bertexplorer"}
    for package, places in imported().items():
        assert package in names(CORE) | more, f"{package}, imported in {places[0][0]}, is not in pyproject.toml"
        outside = [file for file, inside in places if not inside and Path(file).name not in THEIRS]
        assert package in names(CORE) or not outside, f"{package} is of an extra; import it in a function: {outside}"


def test_extras_have_the_declared_packages() -> None:
    for extra, packages in errors.EXTRAS.items():
        assert {installed_as(one) for one in packages} == names(OPTIONAL[extra]), extra
    (whole,) = OPTIONAL["all"]
    assert whole.extras == OPTIONAL.keys() - {"all", "dev", "docs", "ray"}  # a cluster is not for a first try
    assert all(
        one.extras <= OPTIONAL.keys() for given in OPTIONAL.values() for one in given if one.name == PROJECT["name"]
    )


def test_a_missing_extra_is_reported_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(errors.EXTRAS, "train", ("json", "no_such_a"))
    with pytest.raises(ExplorerError) as message:
        errors.need("train", "Fine-tuning")
    assert str(message.value) == (
        'Fine-tuning needs 1 package that is not installed: no_such_a. Run: pip install "bertexplorer[train]"'
    )
    monkeypatch.setitem(errors.EXTRAS, "train", ("no_such_a", "no_such_b"))
    with pytest.raises(ExplorerError, match="2 packages that are not installed: no_such_a, no_such_b"):
        errors.need("train", "Fine-tuning")
    monkeypatch.setitem(errors.EXTRAS, "train", ("json",))
    errors.need("train", "Fine-tuning")


def test_the_licence_and_type_information_exist() -> None:
    licence = (ROOT / "LICENSE").read_text("utf-8")
    assert "Apache License" in licence and "END OF TERMS AND CONDITIONS" in licence
    assert PROJECT["license"] == "Apache-2.0"
    assert (ROOT / "bertexplorer" / "py.typed").is_file()


def test_the_notice_names_everything_vendored_and_every_data_set() -> None:
    notice = (ROOT / "NOTICE").read_text("utf-8")
    folders = [
        folder for part in ("assets", "bertexplorer") for folder in (ROOT / part).rglob("vendor") if folder.is_dir()
    ]
    assert len(folders) == 3
    data = [
        path for path in (ROOT / "assets").iterdir() if path.is_dir() and path.name not in {"checkpoints", *PICTURES}
    ]
    for folder in [*folders, *(ROOT / "assets" / "checkpoints").iterdir(), *data]:
        assert f"\n{folder.relative_to(ROOT).as_posix()}/\n" in notice
    for file in (file for folder in folders for file in folder.iterdir()):
        assert file.name in notice or file.suffix == ".mts"  # our own types of a vendored script


def test_the_wheel_contains_every_asset_except_the_pictures() -> None:
    included = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included == {path: f"bertexplorer/{path}" for path in included}
    assert set(included) == {f"assets/{asset.name}" for asset in (ROOT / "assets").iterdir()} - {
        f"assets/{p}" for p in PICTURES
    }


@pytest.mark.slow
def test_the_wheel_answers_in_a_new_environment(tmp_path: Path) -> None:
    """The dependencies are those of this environment, as nothing is downloaded; the package itself comes from the
    wheel."""
    pytest.importorskip("hatchling")
    pip, env, folder = [sys.executable, "-m", "pip", "-q"], tmp_path / "env", tmp_path / "elsewhere"
    folder.mkdir()
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, cwd=folder, timeout=300)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"bertexplorer-{__version__}-py3-none-any.whl"
    assert (
        wheel.stat().st_size < 66e6
    )  # mini and its lens, 48 MB, the snapshots of tiny, 25 MB, and the runtime of a site, 4 MB, compressed
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(env)], check=True, timeout=300)
    install = [*pip, "--python", str(env / "bin" / "python"), "install", "--no-deps", str(wheel)]
    subprocess.run(install, check=True, timeout=300)
    (packages,) = env.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"), "utf-8")

    variables = {
        "PATH": os.environ["PATH"],
        "HF_HUB_OFFLINE": "1",
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder / "home"),
    }

    def run(program: str, *arguments: str) -> str:
        command = [str(env / "bin" / program), *arguments]
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = "from bertexplorer import settings; print(settings.ASSETS, settings.DATA)"
    assert run("python", "-c", where).split() == [
        str(packages / "bertexplorer" / "assets"),
        str(folder / "home" / "bertexplorer"),
    ]
    assert run("bertexplorer", "--version") == f"bertexplorer {__version__}\n"
    answers = run("bertexplorer", "fill-mask", "Paris is the [MASK] of France.")
    assert re.search(r"^.* capital  .*$", answers, re.MULTILINE)

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve = [str(env / "bin" / "bertexplorer"), "serve", "--port", str(port)]
    server = subprocess.Popen(serve, cwd=folder, env=variables, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 300
        while not answered(f"http://127.0.0.1:{port}/readyz"):
            assert server.poll() is None and time.monotonic() < deadline
            time.sleep(0.5)
        page = httpx.get(f"http://127.0.0.1:{port}/")
        assert page.status_code == 200 and "BERT Explorer" in page.text
    finally:
        server.terminate()
        assert server.wait(60) == 0


def answered(url: str) -> bool:
    try:
        return httpx.get(url).status_code == 200
    except httpx.TransportError:
        return False


def test_a_space_installs_only_the_wheel_beside_its_dockerfile(tmp_path: Path) -> None:
    """Never a package of this name from an index, where anybody might register it."""
    dockerfile = (ROOT / "space" / "Dockerfile").read_text("utf-8").replace("\\\n", "")
    (line,) = re.findall(r"^RUN (wheel=.*)$", dockerfile, re.MULTILINE)
    pip = tmp_path / "pip"
    pip.write_text("#!/bin/sh\necho pip $@\n")
    pip.chmod(0o755)
    space = tmp_path / "space"
    space.mkdir()
    command = line.replace("/tmp/space", str(space))
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}

    def build() -> subprocess.CompletedProcess[str]:
        return subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True)

    without = build()
    assert without.returncode and not without.stdout and "Put a wheel beside this Dockerfile" in without.stderr
    wheel = space / "bertexplorer-0.3.0-py3-none-any.whl"
    wheel.touch()
    assert build().stdout == f"pip install {wheel}[train,mcp]\n"
