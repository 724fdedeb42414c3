"""bertexplorer serve: serves the page until a signal ends it. app.py is the same command for a checkout."""

import argparse
import os
import threading
import webbrowser
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

from bertexplorer.errors import ExplorerError
from bertexplorer.settings import QUIET, Settings

VARIABLES = {
    "host": "BERTEXPLORER_HOST",
    "port": "BERTEXPLORER_PORT",
    "root-path": "BERTEXPLORER_ROOT_PATH",
}  # flag -> the variable that it overrides


class Parser(argparse.ArgumentParser):
    """Reports errors as ExplorerError, without the usage."""

    def error(self, message: str) -> NoReturn:
        raise ExplorerError(
            f"{message[:1].upper()}{message[1:]}; wanted --public, --host H, --port P, --root-path PATH or --open."
        )


def make_parser() -> argparse.ArgumentParser:
    parser = Parser("bertexplorer serve", description="Open the page on a port of this machine.", allow_abbrev=False)
    parser.add_argument("--public", action="store_true", help="let in everyone who can reach the page, without a code")
    parser.add_argument("--host", help="the address to listen on (BERTEXPLORER_HOST, or 127.0.0.1)")
    parser.add_argument("--port", help="the port to listen on (BERTEXPLORER_PORT, or 7860)")
    parser.add_argument("--root-path", help="the path below which a proxy serves the page, such as /bert")
    parser.add_argument("--open", action="store_true", help="open the page in a browser too")
    return parser


def command(arguments: Sequence[str]) -> int:
    """Run `bertexplorer serve`. Returns 0, or 2 after printing to stderr why the page cannot be served. Raises
    ExplorerError if a flag or an environment variable cannot be used."""
    flags = make_parser().parse_args(arguments)
    return serve(host=flags.host, port=flags.port, root_path=flags.root_path, public=flags.public, open=flags.open)


def serve(
    *,
    host: str | None = None,
    port: int | str | None = None,
    root_path: str | None = None,
    public: bool = False,
    open: bool = False,
) -> int:
    """Serve the page until a signal ends it.

    Args:
        host: the address to listen on. It overrides the environment variable BERTEXPLORER_HOST.
        port: the port to listen on. It overrides BERTEXPLORER_PORT.
        root_path: the path below which a proxy serves the page, such as "/bert". It overrides BERTEXPLORER_ROOT_PATH.
        public: whether everyone is let in without a code.
        open: whether to open a browser.

    Returns:
        0, or 2 after printing to stderr why it cannot be served.

    Raises:
        ExplorerError: for a port or a variable that cannot be used.

    Example:
        >>> bx.serve(port=7861, open=True)  # doctest: +SKIP
    """
    settings = replace(
        read_settings({"host": host, "port": None if port is None else str(port), "root-path": root_path}),
        public=public,
    )
    os.environ.update(QUIET | {"GRADIO_TEMP_DIR": str(settings.uploads_dir.resolve())})  # before gradio is imported
    import bertexplorer.web.gradio_patches  # noqa: F401 - before gradio itself
    from bertexplorer.server.launch import launch
    from bertexplorer.store.registry import CheckpointRegistry

    return launch(CheckpointRegistry(settings, shared=True), settings, browse if open else None)


def read_settings(flags: Mapping[str, str | None]) -> Settings:
    """The settings of the environment, overridden by *flags*. Raises ExplorerError with the name of a flag or variable
    that cannot be used."""
    given = {flag: value for flag, value in flags.items() if value is not None}
    for flag, value in given.items():
        if not value.strip() and flag != "root-path":
            raise ExplorerError(f"--{flag} is empty; give a {flag}, or leave the flag out.")
    variables = {VARIABLES[flag]: value for flag, value in given.items()}
    return Settings.from_env({**os.environ, **variables}, {VARIABLES[flag]: f"--{flag}" for flag in given})


def browse(address: str) -> None:
    """Open *address* in a browser without waiting for it, as some browsers start in the foreground."""
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
