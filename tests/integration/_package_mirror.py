"""Folders of Debian packages, signed and served over HTTP: a mirror as docs/compatibility.md describes it, for machines without a way to Debian's archive."""

from __future__ import annotations

import functools
import hashlib
import http.server
import shutil
import threading
import typing as t
from email.utils import formatdate
from pathlib import Path

from conftest import run


class Mirror:
    """`requested` are the paths that were asked for, `key` is the public key that the folders are signed with."""

    def __init__(self, folder: Path, address: str) -> None:
        self.requested: list[str] = []
        self._folder = folder
        self._keys = folder / "keys"
        self._keys.mkdir(mode=0o700, parents=True)
        self._gpg("--quick-generate-key", "mirror@example.com", "ed25519", "sign", "never")
        self.key = self._gpg("--armor", "--export")
        mirror = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_arguments: t.Any) -> None:
                mirror.requested.append(self.path)

        served = folder / "served"
        served.mkdir()
        self._server = http.server.ThreadingHTTPServer((address, 0), functools.partial(Handler, directory=str(served)))
        self.url = f"http://{address}:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def add(self, name: str, packages: t.Iterable[Path]) -> None:
        """Serve packages as the folder `name`, with an index of them and its signature."""
        folder = self._folder / "served" / name
        folder.mkdir()
        entries = []
        for package in packages:
            shutil.copy2(package, folder)
            data = package.read_bytes()
            place = f"Filename: ./{package.name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n"
            entries.append(run("dpkg-deb", "--field", str(package)) + place)
        index = "\n".join(entries).encode()
        (folder / "Packages").write_bytes(index)
        sums = f"SHA256:\n {hashlib.sha256(index).hexdigest()} {len(index)} Packages\n"
        (folder / "Release").write_text(f"Origin: {name}\nDate: {formatdate(usegmt=True)}\n{sums}", encoding="utf-8")
        self._gpg("--clearsign", "--output", str(folder / "InRelease"), str(folder / "Release"))

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        run("gpgconf", "--homedir", str(self._keys), "--kill", "all")

    def _gpg(self, *arguments: str) -> str:
        options = ("--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "")
        return run("gpg", "--homedir", str(self._keys), *options, *arguments)
