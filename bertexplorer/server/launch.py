"""Launch: serve the application on its port until a signal ends it."""

import errno
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from bertexplorer.api.calls import Backend
from bertexplorer.cluster.backends import create_backend, create_launcher, warn_of_problems
from bertexplorer.core.ask import Answerer, opening
from bertexplorer.engine.queues import RequestQueues
from bertexplorer.errors import ExplorerError
from bertexplorer.runs.service import RunService
from bertexplorer.server import logs
from bertexplorer.server.application import add_layers, mount_page
from bertexplorer.server.connections import Connection, WaitingConnections, raise_file_limit
from bertexplorer.server.cookie_signing import CookieSigner, load_signer
from bertexplorer.server.health import Readiness
from bertexplorer.server.metrics import Metrics
from bertexplorer.server.plugins import choose_views
from bertexplorer.settings import OBSOLETE, Settings
from bertexplorer.store import uploads
from bertexplorer.store.registry import CheckpointRegistry

GRACE_S = 8  # for answers that are in progress when a signal arrives
EXIT_S = 16.0  # after a signal, until the process ends in any case; runs are separate processes


class Server(uvicorn.Server):
    """Calls back once it is listening, and exits with 0 on a signal."""

    def __init__(self, config: uvicorn.Config, on_open: Callable[[], None], ready: Readiness) -> None:
        super().__init__(config)
        self.on_open = on_open
        self.ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.on_open()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals without raising them again at the end, as uvicorn does, which would set the exit status."""
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Stop, as uvicorn does at a signal; after EXIT_S in any case."""
        self.ready.ending = True
        timer = threading.Timer(EXIT_S, os._exit, (0,))
        timer.daemon = True
        timer.start()
        super().handle_exit(sig, frame)


def launch(library: CheckpointRegistry, settings: Settings, browse: Callable[[str], object] | None = None) -> int:
    """Serve until interrupted. *browse*: called with the address as soon as the page is up. Returns 0, or 2 after
    printing the reason to stderr."""
    logs.install(settings.log)
    try:
        check_access(settings)
        settings = choose_views(settings)
        warn_of_problems(settings)
        service = RunService(library, settings, create_launcher(settings))
    except ExplorerError as error:
        print(error, file=sys.stderr)  # noqa: T201 - only this module prints, apart from the command line
        return 2
    try:
        bound = bind(settings.host, settings.port)
        signer = load_signer(settings.data_dir)
        prepare_uploads(settings)
        backend = create_backend(settings, library.owned_runs)
    except ExplorerError as error:
        service.close()
        print(error, file=sys.stderr)  # noqa: T201
        return 2
    serve(library, settings, service, signer, bound, browse=browse, backend=backend)
    if backend:
        backend.close()
    service.close()
    return 0


def serve(
    library: CheckpointRegistry,
    settings: Settings,
    service: RunService,
    signer: CookieSigner,
    bound: socket.socket,
    browse: Callable[[str], object] | None = None,
    backend: Backend | None = None,
) -> None:
    """Serve the page on an open socket until a signal comes. *backend*: where views are computed; None: here."""
    ready = Readiness()
    queues = RequestQueues(quick_waiting=settings.waiting, limit=settings.tokens)
    metrics = Metrics()
    metrics.watch(library.scheduler, queues)
    if backend:
        metrics.watch_replicas(backend.replicas)
    app = mount_page(settings, Answerer(library.for_owner(""), service.quota), queues, service, backend)
    layers = add_layers(app, settings, signer, ready, metrics)

    warming = threading.Thread(target=warm_up, args=(library, settings, ready, backend), daemon=True)

    def on_open() -> None:
        for name in OBSOLETE.keys() & os.environ.keys():
            print(f"{name} no longer has an effect: {OBSOLETE[name]}.", file=sys.stderr)  # noqa: T201
        print(f"BERT Explorer is open at {address(settings)}", flush=True)  # noqa: T201
        warming.start()
        if browse:
            browse(address(settings))

    with suppress(KeyboardInterrupt):
        Server(server_config(layers, settings), on_open, ready).run(sockets=[bound])
    if warming.is_alive() and not backend:  # ending in the middle of importing torch would abort the process
        warming.join()


def server_config(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    """The configuration of uvicorn. It reads the client's address from X-Forwarded-For only if the request comes from
    one of Settings.proxies. The process may then open more files, half of which are for connections that wait for a
    request."""
    waiting = WaitingConnections(raise_file_limit() // 2)
    return uvicorn.Config(
        app,
        http=partial(Connection, waiting=waiting),  # type: ignore[arg-type]  # uvicorn calls it as it calls a class
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=list(settings.proxies),
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE_S,
    )


def warm_up(library: CheckpointRegistry, settings: Settings, ready: Readiness, backend: Backend | None = None) -> None:
    """Compute a first answer, which imports torch, and note in *ready* how it went. It runs in a thread, after the page
    is up. *backend*: where the answer is computed; None: here."""
    if backend:
        ready.error = backend.warm_up()
    else:
        ready.error = Answerer(library).answer(opening(settings)).error
    ready.loaded.set()


def check_access(settings: Settings) -> None:
    """Raises ExplorerError if the page would be open to everyone without --public."""
    if not (settings.loopback or settings.code or settings.public):
        raise ExplorerError(
            f"Others can reach {settings.host}. Set BERTEXPLORER_CODE to an access code that they type once, or start "
            "with --public to let everyone in."
        )


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens on *host* and *port*. Raises ExplorerError, which says what to do."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
        if os.name == "posix":  # on Windows, this would let two servers share a port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            message = f"Port {port} is in use. Set BERTEXPLORER_PORT={port + 1}, or stop the other program."
        elif error.errno == errno.EACCES:
            message = f"Port {port} requires elevated privileges. Set BERTEXPLORER_PORT=7860."
        else:
            message = f"{host} is not an address of this machine ({error.strerror}). Set BERTEXPLORER_HOST."
        raise ExplorerError(message) from error
    bound.set_inheritable(False)
    return bound


def address(settings: Settings) -> str:
    """The address to open on this machine."""
    host = "localhost" if settings.host in ("0.0.0.0", "::", "[::]") else settings.host
    if ":" in host.strip("[]"):  # IPv6
        host = f"[{host}]"
    return f"http://{host}:{settings.port}/"


def prepare_uploads(settings: Settings) -> None:
    """Create the private folder of uploads, and delete uploads older than a day. Raises ExplorerError."""
    folder = settings.uploads_dir
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        uploads.delete_old(folder)
    except OSError as error:
        raise ExplorerError(f"{folder} cannot be used: {error.strerror}. Set BERTEXPLORER_DATA.") from error
