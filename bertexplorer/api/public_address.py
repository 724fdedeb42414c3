"""Public address: the address of a page that works on a phone, and its QR code."""

from __future__ import annotations

import io
import socket

import segno
from starlette.datastructures import URL
from starlette.responses import Response

from bertexplorer.settings import Settings

OWN_NAMES = ("localhost", "127.0.0.1", "::1")


def public_address(settings: Settings, url: URL, path: str) -> str:
    """The address of *path*, such as /j/ABCDEF, with a host name that works on a phone. *url*: of the request."""
    host = url.hostname or ""
    if host in OWN_NAMES and not settings.loopback:
        host = own_address() or host
    port = f":{url.port}" if url.port else ""
    return f"{url.scheme}://{f'[{host}]' if ':' in host else host}{port}{settings.root_path}{path}"


def unreachable(settings: Settings, url: URL, trouble: str, rest: str) -> str:
    """Why phones cannot open an address, and what to do; "" if they can. *trouble*: what they cannot do, such as
    "Phones cannot join yet"; *rest*: what stays."""
    if settings.local:
        return (
            f"{trouble}: only this computer can reach the page. Stop the app, and start it again with "
            f"--host 0.0.0.0 and an access code in BERTEXPLORER_CODE. {rest}"
        )
    if settings.loopback and url.hostname in OWN_NAMES:
        name = f" as {settings.hosts[0]}" if settings.hosts else " by its public name"
        return f"Phones cannot reach this address. Open the page{name} to show them the right one. {rest}"
    return ""


def shared_link(settings: Settings, url: URL, key: str) -> dict[str, str]:
    """The link of a shared run: its key, its address, and what keeps others from opening it."""
    note = unreachable(settings, url, "Others cannot open the link yet", "The link stays valid.")
    return {"key": key, "address": public_address(settings, url, f"/r/{key}"), "note": note}


def own_address() -> str:
    """The address of this machine in its network, "" if it has none. Sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("10.255.255.255", 1))
            return str(probe.getsockname()[0])
        except OSError:
            return ""


def qr_code(address: str) -> Response:
    """*address* as a QR code in SVG."""
    image = io.BytesIO()
    segno.make(address, error="m").save(image, kind="svg", border=2, scale=8)
    return Response(image.getvalue(), media_type="image/svg+xml", headers={"cache-control": "no-store"})
