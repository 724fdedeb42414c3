"""Signed cookies: the server can tell whether it issued a value that a browser sends."""

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from bertexplorer.errors import ExplorerError

SIZE = 32  # bytes of the secret


class CookieSigner:
    """Signs with a secret in the data folder, so that cookies survive a restart."""

    def __init__(self, secret: bytes) -> None:
        self.secret = secret
        # browsers share cookies between all ports of a machine: two servers must not overwrite each other's cookies
        self.name = f"bertexplorer-{self.sign('name')[:8]}"

    def sign(self, purpose: str, *words: str) -> str:
        """The signature of *words* for *purpose*: 64 hexadecimal digits."""
        return hmac.new(self.secret, "\0".join((purpose, *words)).encode(), hashlib.sha256).hexdigest()

    def verify(self, mark: str, purpose: str, *words: str) -> bool:
        """Whether *mark* is that signature, compared in constant time."""
        return hmac.compare_digest(mark.encode("utf-8", "replace"), self.sign(purpose, *words).encode())


def signer_of(folder: Path) -> CookieSigner:
    """The signer of a data folder, made at the first start; only its owner can read it. Raises ExplorerError."""
    path = folder / "secret"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            aside = path.with_name(f"secret.{os.getpid()}")
            aside.unlink(missing_ok=True)
            with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
                opened.write(secrets.token_bytes(SIZE))
            aside.replace(path)
        path.chmod(0o600)
        found = path.read_bytes()
    except OSError as error:
        message = f"{path} cannot be used: {error.strerror}. Set BERTEXPLORER_DATA to a folder of yours."
        raise ExplorerError(message) from error
    if len(found) != SIZE:
        raise ExplorerError(
            f"{path} has {len(found)} bytes; wanted {SIZE}. Delete it; every browser then counts as a new one."
        )
    return CookieSigner(found)
