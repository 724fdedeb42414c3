"""Signed cookies: the server recognizes the values that it has issued."""

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from bertexplorer.errors import ExplorerError

SECRET_BYTES = 32


class CookieSigner:
    """Signs with a secret in the data folder, so that cookies survive a restart."""

    def __init__(self, secret: bytes) -> None:
        self.secret = secret
        # browsers share cookies between all ports of a machine: two servers must not overwrite each other's cookies
        self.name = f"bertexplorer-{self.sign('name')[:8]}"

    def sign(self, purpose: str, *words: str) -> str:
        """The signature of *words* for *purpose*: 64 hexadecimal digits."""
        return hmac.new(self.secret, "\0".join((purpose, *words)).encode(), hashlib.sha256).hexdigest()

    def verify(self, signature: str, purpose: str, *words: str) -> bool:
        """Whether *signature* is that of *words*. Compares in constant time."""
        return hmac.compare_digest(signature.encode("utf-8", "replace"), self.sign(purpose, *words).encode())


def load_signer(folder: Path) -> CookieSigner:
    """The signer of a data folder. The first start creates its secret, which only the user of the server can read.
    Raises ExplorerError."""
    path = folder / "secret"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            partial = path.with_name(f"secret.{os.getpid()}")
            partial.unlink(missing_ok=True)
            with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secrets.token_bytes(SECRET_BYTES))
            partial.replace(path)
        path.chmod(0o600)
        secret = path.read_bytes()
    except OSError as error:
        message = f"{path} cannot be used: {error.strerror}. Set BERTEXPLORER_DATA to a folder of yours."
        raise ExplorerError(message) from error
    if len(secret) != SECRET_BYTES:
        raise ExplorerError(
            f"{path} has {len(secret)} bytes; wanted {SECRET_BYTES}. Delete it; every browser then counts as a new one."
        )
    return CookieSigner(secret)
