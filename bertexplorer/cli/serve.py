"""bertexplorer serve: the page, served until a signal ends it. app.py is the same command for a checkout."""

import argparse
import os
import threading
import webbrowser
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

from bertexplorer.errors import ExplorerError
from bertexplorer.settings import QUIET, Settings

VARIABLES = {"host": "BERTEXPLORER_HOST", "port": "BERTEXPLORER_PORT"}  # flag -> the variable that it overrides


class Parser(argparse.ArgumentParser):
    """Reports an error in one sentence, without the usage."""

    def error(self, message: str) -> NoReturn:
        raise ExplorerError(f"{message[:1].upper()}{message[1:]}; wanted --public, --host H, --port P or --open.")


def parser() -> argparse.ArgumentParser:
    """The flags of `bertexplorer serve`."""
    made = Parser("bertexplorer serve", description="Open the page on a port of this machine.", allow_abbrev=False)
    made.add_argument("--public", action="store_true", help="let in everyone who can reach the page, without a code")
    made.add_argument("--host", help="the address to listen on (BERTEXPLORER_HOST, or 127.0.0.1)")
    made.add_argument("--port", help="the port to listen on (BERTEXPLORER_PORT, or 7860)")
    made.add_argument("--open", action="store_true", help="open the page in a browser too")
    return made


def command(arguments: Sequence[str]) -> int:
    """Run `bertexplorer serve` with these flags. Returns 0, or 2 after saying on stderr why the page cannot be served.
    Raises ExplorerError if a flag or an environment variable cannot be used."""
    given = parser().parse_args(arguments)
    return serve(host=given.host, port=given.port, public=given.public, open=given.open)


def serve(*, host: str | None = None, port: int | str | None = None, public: bool = False, open: bool = False) -> int:
    """Serve the page until a signal ends it. *host* and *port* go before the environment variables BERTEXPLORER_HOST
    and BERTEXPLORER_PORT; *public* lets everyone in without a code; *open* opens a browser.

    Returns 0, or 2 after saying on stderr why it cannot be served. Raises ExplorerError for a port or a variable that
    cannot be used.

    Example:
        >>> bx.serve(port=7861, open=True)  # doctest: +SKIP
    """
    settings = replace(chosen({"host": host, "port": None if port is None else str(port)}), public=public)
    os.environ.update(QUIET | {"GRADIO_TEMP_DIR": str(settings.uploads_dir.resolve())})  # before gradio is imported
    import bertexplorer.ui.gradio_patches  # noqa: F401 - before gradio itself
    from bertexplorer.server.launch import launch
    from bertexplorer.store.registry import CheckpointRegistry

    return launch(CheckpointRegistry(settings, shared=True), settings, browse if open else None)


def chosen(given: Mapping[str, str | None]) -> Settings:
    """The settings of the environment, overridden by the flags *given*. Raises ExplorerError that names a flag or a
    variable that cannot be used."""
    flags = {flag: value for flag, value in given.items() if value is not None}
    for flag, value in flags.items():
        if not value.strip():
            raise ExplorerError(f"--{flag} is empty; give a {flag}, or leave the flag out.")
    try:
        return Settings.from_env({**os.environ, **{VARIABLES[flag]: value for flag, value in flags.items()}})
    except ExplorerError as error:
        message = str(error)
        for flag in flags:
            message = message.replace(VARIABLES[flag], f"--{flag}")
        raise ExplorerError(message) from error


def browse(address: str) -> None:
    """Open *address* in the person's browser, without waiting for it: some browsers start in the foreground."""
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
