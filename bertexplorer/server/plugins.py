"""Plug-ins: which views of other packages a server has. Their code runs with the rights of the server."""

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from bertexplorer.settings import Settings
from bertexplorer.store import sandbox
from bertexplorer.views import VIEWS, plugins

TRIAL_S = 2 * plugins.IMPORT_S  # in which a process has started and has tried a view
TRIAL_MB = 8000
log = logging.getLogger(__name__)


def choose_views(settings: Settings) -> Settings:
    """Turn on the views of other packages that this server has, and return *settings* that name them, for the processes
    that answer for it. Each view is tried in a process of its own first, as an import may hang or end its process."""
    wanted = wanted_views(settings)
    with ThreadPoolExecutor(len(wanted) or 1) as threads:
        faults = dict(zip(wanted, threads.map(tried, wanted), strict=True))
    for name, fault in faults.items():
        if fault:
            plugins.report(plugins.installed()[name], fault)
    usable = tuple(name for name, fault in faults.items() if not fault)
    VIEWS.choose(usable)
    return replace(settings, plugins=usable)


def wanted_views(settings: Settings) -> tuple[str, ...]:
    """The installed views that this server should have. On one that others can reach, these are only those that
    BERTEXPLORER_PLUGINS names."""
    if settings.plugins == ():
        return ()
    installed = plugins.installed()
    if settings.plugins is not None:
        for name in settings.plugins:
            if name not in installed:
                log.warning(f"BERTEXPLORER_PLUGINS names {plugins.printable(name)!r}, but no package brings this view.")
        return tuple(name for name in installed if name in settings.plugins)
    if settings.local and not (settings.public or settings.code):
        return tuple(installed)
    if installed:
        names = ", ".join(installed)
        log.warning(
            f"Views of other packages are off, as others can reach this server: {names}. Name in BERTEXPLORER_PLUGINS "
            "those that you want."
        )
    return ()


def tried(name: str) -> str:
    """Why the view called *name* cannot be used; "" if it can."""
    try:
        return str(sandbox.call(plugins.fault, name, seconds=TRIAL_S, megabytes=TRIAL_MB))
    except sandbox.SandboxError as error:
        return f"its import {error}"
