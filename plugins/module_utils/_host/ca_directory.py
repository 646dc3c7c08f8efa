# SPDX-License-Identifier: GPL-3.0-or-later
"""The directory of the CAs on the control node: a CA is created, switched and retired in it, by one run at a time.

Each file is there completely or not at all, so a run that was killed leaves what the next one goes on with: a key without a certificate gets its certificate,
and the certificate is what moves last.
"""

from __future__ import annotations

import contextlib
import datetime
import glob
import os
import stat
import typing as t

from .._base.errors import InvalidInput, OvnError
from .._pki import files
from .._pki.issuing import (
    AuthorityName,
    authority_certificate,
    authority_title,
    new_authority_key,
    require_cryptography,
)
from .._pki.signing import load_authority_key
from .file_lock import acquire

Phase = t.Literal["active", "next", "previous"]

_PREFIXES = {"active": "", "next": "next-", "previous": "previous-"}
_STEMS = {"central": "ca", "chassis": "chassis-ca"}
_KEY_MODE, _CERTIFICATE_MODE, _DIRECTORY_MODE = 0o600, 0o644, 0o700
_OWN = files.Ownership(None, None)
# The directory often lies in the repository of the inventory: no key may get into a commit by accident.
_IGNORE_FILE, _IGNORE = ".gitignore", b"*\n"

_ENCRYPTED = (b"$ANSIBLE_VAULT", b"-----BEGIN ENCRYPTED", b"Proc-Type: 4,ENCRYPTED")


class NewAuthority(t.NamedTuple):
    """How a CA is created. `former` are the certificates of the CA before it (PEM), which stay trusted."""

    days: int
    passphrase: str = ""
    former: t.Sequence[str] = ()


class AuthorityDirectory:
    """The files of one CA in the directory. `read_key` returns the text of a key, decrypted if it is in a vault."""

    def __init__(self, directory: str, name: AuthorityName, read_key: t.Callable[[str], str]) -> None:
        self.directory = directory
        self.name = name
        self._read_key = read_key

    def certificate(self, phase: Phase) -> str:
        return os.path.join(self.directory, f"{_PREFIXES[phase]}{_STEMS[self.name]}.pem")

    def key(self, phase: Phase) -> str:
        return os.path.join(self.directory, f"{_PREFIXES[phase]}{_STEMS[self.name]}-key.pem")

    def create(self, phase: Phase, new: NewAuthority, now: datetime.datetime) -> bool:
        """Create the CA; return False if it is there, because another run was faster for example."""
        require_cryptography()
        self._create_directory()
        with self._locked():
            _remove_pending(self.directory)
            if new.former and not os.path.lexists(self.certificate("previous")):
                _write(self.certificate("previous"), "\n".join(new.former), _CERTIFICATE_MODE)
            if os.path.lexists(self.certificate(phase)):
                return False
            path = self.key(phase)
            if not os.path.lexists(path):
                _write(path, new_authority_key(new.passphrase)[1], _KEY_MODE)
            text = self._read_key(path)
            if new.passphrase and "ENCRYPTED" not in text:  # of a run that was killed, without the passphrase
                raise InvalidInput(
                    f"{path} is not encrypted, and a passphrase is declared for it. Remove the file, which no CA uses yet, or leave the passphrase out; "
                    "then run again."
                )
            key = load_authority_key(text, new.passphrase, path)
            certificate = authority_certificate(key, authority_title(self.name, now), now, new.days)
            _write(self.certificate(phase), certificate, _CERTIFICATE_MODE)
            return True

    def switch(self) -> bool:
        """Let the next CA sign, and keep the former one as previous; return False if there is no next one."""
        with self._locked():
            if not os.path.lexists(self.certificate("next")):
                return False
            active = files.read(self.certificate("active"))
            if active is not None and not os.path.lexists(self.certificate("previous")):
                _write(self.certificate("previous"), active.decode(), _CERTIFICATE_MODE)
            # Without its next key the active one is that of the next CA already. A lost key is a reason for a rotation.
            if os.path.lexists(self.certificate("previous")) and os.path.lexists(self.key("next")):
                _move(self.key("active"), self.key("previous"))
            _move(self.key("next"), self.key("active"), replace=True)
            _move(self.certificate("next"), self.certificate("active"), replace=True)
            return True

    def retire(self, now: datetime.datetime) -> bool:
        """Put the previous CA out of use: its files stay under another name. Return False if there is none."""
        with self._locked():
            moved = [
                _move(path, os.path.join(self.directory, f"retired-{now:%Y%m%dT%H%M%SZ}-{os.path.basename(path)}"))
                # As long as the certificate is there, the next run comes here again.
                for path in (self.key("previous"), self.certificate("previous"))
            ]
            return any(moved)

    def _create_directory(self) -> None:
        try:
            os.makedirs(self.directory, mode=_DIRECTORY_MODE, exist_ok=True)
            os.chmod(self.directory, _DIRECTORY_MODE)
        except OSError as e:
            raise OvnError(
                f"The directory of the CA, {self.directory}, cannot be created on the control node: {e.strerror}. Correct that, or set ovn_pki_ca_directory "
                "to another directory."
            ) from e

    @contextlib.contextmanager
    def _locked(self) -> t.Iterator[None]:
        """Lock the directory by the file that each CA comes with; directories cannot be locked on NFS."""
        path = os.path.join(self.directory, _IGNORE_FILE)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, _CERTIFICATE_MODE)
        except OSError as e:
            raise OvnError(
                f"{path} cannot be written: {e.strerror}. Nothing was changed. Correct its permissions, then run again."
            ) from e
        try:
            acquire(descriptor, path)
            if os.fstat(descriptor).st_size == 0:
                os.write(descriptor, _IGNORE)
            yield
        finally:
            os.close(descriptor)


class KeyModes(t.NamedTuple):
    """The permission bits of a key and of its directory, and whether the key is encrypted."""

    key: int
    directory: int
    encrypted: bool


def key_modes(path: str) -> KeyModes | None:
    """Return who can use the key of a CA; None if it cannot be read."""
    try:
        key, directory = (stat.S_IMODE(os.stat(one).st_mode) for one in (path, os.path.dirname(path)))
        with open(path, "rb") as stream:
            beginning = stream.read(200)
    except OSError:
        return None
    return KeyModes(key, directory, any(sign in beginning for sign in _ENCRYPTED))


def _remove_pending(directory: str) -> None:
    """Delete what killed runs have left, with keys in it: whoever has the lock is alone."""
    for path in glob.glob(os.path.join(glob.escape(directory), ".*.pending")):
        files.delete(path)


def _write(path: str, text: str, mode: int) -> None:
    files.write_pending(path, text.encode(), mode, _OWN)
    files.activate(path)


def _move(source: str, target: str, *, replace: bool = False) -> bool:
    """Rename a file if it is there, and if nothing is in its place unless that may be replaced."""
    if not os.path.lexists(source) or (os.path.lexists(target) and not replace):
        return False
    try:
        os.rename(source, target)
    except OSError as e:
        raise OvnError(f"{source} cannot be renamed to {target}: {e.strerror}. Correct that, then run again.") from e
    return True
