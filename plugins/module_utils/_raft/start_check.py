# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a database server would not start on this host with the settings and files that are there. It starts nothing and changes nothing."""

from __future__ import annotations

import ipaddress
import os
import shutil
import socket
import ssl
import typing as t

from .answer import host_of

# Writing a snapshot needs the space of the file once more, and the log goes on meanwhile.
_FREE_FACTOR = 2
_SYSTEM_DIRECTORIES = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin", "/bin")


class Space(t.NamedTuple):
    """In bytes; None if it is not known. `incomplete`: the file misses what its server has in memory since the disk was full."""

    file: int | None
    free: int | None
    incomplete: bool = False


def measure_space(database_file: str) -> Space:
    """Return the size of the database file and what a user may still write beside it."""
    try:
        file: int | None = os.stat(database_file).st_size
    except OSError:
        file = None
    try:
        system = os.statvfs(os.path.dirname(database_file))
    except OSError:
        return Space(file, None)
    return Space(file, system.f_bavail * system.f_frsize)


def find_start_problem(settings: t.Mapping[str, str], space: Space) -> str:
    """Return the first reason why a start with these settings of the launcher would fail, empty if none is known."""
    address, file = settings.get("OVN_LOCAL_ADDRESS", ""), settings.get("OVN_DB_FILE", "")
    return _program_problem() or _tls_problem(settings) or find_host_problem(address, file, space)


def find_host_problem(address: str, place: str, space: Space) -> str:
    """Return why a server would not start on this host whatever its settings are, empty if no reason is known."""
    return _address_problem(address) or find_space_problem(place, space)


def _program_problem() -> str:
    path = os.pathsep.join([os.environ.get("PATH", ""), *_SYSTEM_DIRECTORIES])
    if shutil.which("ovsdb-server", path=path):
        return ""
    return "The program ovsdb-server is not installed. Install the Open vSwitch packages."


def _tls_problem(settings: t.Mapping[str, str]) -> str:
    key, certificate = settings.get("OVN_PRIVATE_KEY", ""), settings.get("OVN_CERTIFICATE", "")
    authority = settings.get("OVN_CA_CERTIFICATE", "")
    if not key and not settings.get("OVN_LOCAL_ADDRESS", "").startswith("ssl:"):
        return ""
    for option, path in (("private key", key), ("certificate", certificate), ("CA certificate", authority)):
        if not path:
            return f"No {option} is set. TLS needs private key, certificate and CA certificate."
        if not os.access(path, os.R_OK):
            return f"The {option} {path} is missing or unreadable. Issue the certificates again."
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_verify_locations(authority)
    except (OSError, ValueError) as e:
        return f"The CA certificate {authority} cannot be loaded: {e}. Issue the certificates again."
    try:
        # A key with a passphrase must fail, not ask.
        context.load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ValueError) as e:
        return (
            f"The certificate {certificate} and the private key {key} are no pair: {e}. Issue the certificates again."
        )
    return ""


def _address_problem(address: str) -> str:
    host = host_of(address)
    try:
        version = ipaddress.ip_address(host).version
    except ValueError:  # a name, or nothing
        return ""
    try:
        with socket.socket(socket.AF_INET if version == 4 else socket.AF_INET6) as probe:
            probe.bind((host, 0))
    except OSError as e:
        return f"The Raft address {host} is not an address of this host: {e}. Correct the address, or bring it up."
    return ""


def find_space_problem(place: str, space: Space) -> str:
    """Return why the file system of this place is or was too small for the database, empty if it is not, or if the sizes are not known."""
    if space.incomplete:
        return (
            f"The database file of {place} misses what its server could not write to a full disk. Free space on it; some seconds later the launcher "
            "has the file written again, and says so in its log."
        )
    if space.file is None or space.free is None or space.free >= _FREE_FACTOR * space.file:
        return ""
    return (
        f"The file system of {place} has {_size(space.free)} free, and a compaction of the database needs "
        f"{_size(_FREE_FACTOR * space.file)}. Enlarge the file system, free space on it, or compact the database while its server takes part."
    )


def _size(count: int) -> str:
    return f"{count / 2**10:.0f} KiB" if count < 10 * 2**20 else f"{count / 2**20:.0f} MiB"
