# SPDX-License-Identifier: GPL-3.0-or-later
"""What dpkg, apt and /etc/os-release say about the packages of a host. Pure."""

from __future__ import annotations

import re
import shlex
import typing as t
import urllib.parse

STATUS_FORMAT = r"${Package}\t${db:Status-Want}\t${db:Status-Status}\t${Version}\t${Depends}\n"
_INSTALLED = ("installed", "triggers-awaited", "triggers-pending")
_INTERRUPTED = ("half-installed", "unpacked", "half-configured")
_PROXY = re.compile(r'^Acquire::(\w+)::Proxy(?:::([^\s"]+))? "([^"]+)"', re.IGNORECASE | re.MULTILINE)
_PROXY_PROGRAM = re.compile(r'^Acquire::(\w+)::Proxy-?Auto-?Detect "[^"]', re.IGNORECASE | re.MULTILINE)
_PORTS = {"http": 80, "https": 443, "ftp": 21}
_PROXY_PORTS = {**_PORTS, "socks5h": 1080}
_EXACT = re.compile(r"\s*([a-z0-9][a-z0-9+.-]*)(?::[a-z0-9-]+)?\s*\(=\s*([^)\s]+)\s*\)\s*")


class InstalledPackage(t.NamedTuple):
    """An installed package. `needs` are the packages that it needs in exactly one version."""

    version: str
    held: bool
    needs: dict[str, str]


class DpkgStatus(t.NamedTuple):
    """The database of dpkg: what is installed, and what an installation that was cut off has left behind."""

    installed: dict[str, InstalledPackage]
    interrupted: list[str]


def parse_needs(depends: str) -> dict[str, str]:
    """Return the packages of a Depends field that are needed in exactly one version, such as those of the same source."""
    found = (_EXACT.fullmatch(group) for group in depends.split(","))
    return {match[1]: match[2] for match in found if match}


def parse_status(text: str) -> DpkgStatus:
    """Parse the output of `dpkg-query --show` with `STATUS_FORMAT`."""
    status = DpkgStatus({}, [])
    for line in text.splitlines():
        name, want, state, version, depends = [*line.split("\t"), "", "", "", ""][:5]
        if state in _INSTALLED:
            status.installed[name] = InstalledPackage(version, want == "hold", parse_needs(depends))
        elif state in _INTERRUPTED:
            status.interrupted.append(name)
    return status


def parse_candidates(text: str) -> dict[str, str]:
    """Parse the output of `apt-cache policy`: what apt would install of each package."""
    candidates: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line and not line.startswith(" "):
            name = line.partition(":")[0]
        elif line.startswith("  Candidate: ") and not line.endswith("(none)"):
            candidates[name] = line.rpartition(" ")[2]
    return candidates


def parse_obtainable(text: str) -> dict[str, list[str]]:
    """Parse the output of `apt-cache madison`: the versions of each package that a source has, each once."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 3 and cells[2].endswith(" Packages"):  # the others are sources
            versions = found.setdefault(cells[0], [])
            if cells[1] not in versions:
                versions.append(cells[1])
    return found


def parse_records(text: str) -> dict[str, dict[str, dict[str, str]]]:
    """Parse the output of `apt-cache show --all-versions`: what each version of each package needs exactly."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for block in text.split("\n\n"):
        fields = {key: value.strip() for key, _colon, value in (line.partition(":") for line in block.splitlines())}
        if "Package" in fields:
            found.setdefault(fields["Package"], {})[fields.get("Version", "")] = parse_needs(fields.get("Depends", ""))
    return found


def have_lists(uris: str, files: t.Iterable[str]) -> bool:
    """Return whether each source in the output of `apt-get update --print-uris` has its lists among these files; a CD-ROM never gets any that way.

    A source without them may have what the others do not have. Without a source there are no lists either.
    """
    sources = re.findall(r"^'(?!cdrom:)[^']+' (\S+)InRelease ", uris, re.MULTILINE)
    names = list(files)
    return bool(sources) and all(any(name.startswith(source) for name in names) for source in sources)


class Archives(t.NamedTuple):
    """Where archives are fetched from: `places` are host and port, `unprobed` what cannot be connected to, such as `file:` or a proxy that a program names."""

    places: list[tuple[str, int]]
    unprobed: list[str]


def parse_archives(uris: str, settings: str, read: t.Callable[[str], str]) -> Archives:
    """Return where archives are fetched from: those of `apt-get update --print-uris`, or the proxies in the output of `apt-config dump`.

    `read` returns the list of mirrors to which a path of `mirror+file:` belongs, empty if there is none.
    """
    proxies = {(scheme.lower(), host): proxy for scheme, host, proxy in _PROXY.findall(settings)}
    programs = {scheme.lower() for scheme in _PROXY_PROGRAM.findall(settings)}
    places: dict[tuple[str, int], None] = {}
    unprobed: dict[str, None] = {}
    for archive in re.findall(r"^'([^']+)'", uris, re.MULTILINE):
        for uri in _mirrors(archive, read):
            scheme = uri.partition(":")[0]
            host = _host_and_port(uri)[0]
            if scheme not in _PORTS:
                unprobed[f"{scheme}:"] = None
                continue
            if programs & {scheme, "http"} and not any((kind, host) in proxies for kind in (scheme, "http")):
                unprobed["a proxy that a program names"] = None
                continue
            proxy = _proxy_of(scheme, host, proxies)
            place = _host_and_port(proxy if proxy and proxy.upper() != "DIRECT" else uri)
            if all(place):
                places[place] = None
            else:
                unprobed[proxy or uri] = None
    return Archives(list(places), list(unprobed))


def proxies_of_environment(settings: str, uris: str, proxy: str, environment: t.Mapping[str, str]) -> str:
    """Return apt's settings with what its environment adds: proxies where it has none of its own, and hosts of `no_proxy`, which it asks directly.

    `settings` are what `apt-config dump` prints, `proxy` is what a run sets as http_proxy and https_proxy. As in apt's method http (http.cc): what is
    set for http counts for https, too.
    """
    own = {scheme.lower() for scheme, host, value in _PROXY.findall(settings) if not host and value}
    given = {kind: proxy or environment.get(f"{kind}_proxy", "") for kind in ("http", "https")}
    before = [f'Acquire::{kind}::Proxy "{way}";' for kind, way in given.items() if way and not own & {kind, "http"}]
    exempt = [name.strip().lstrip(".") for name in environment.get("no_proxy", "").split(",") if name.strip()]
    hosts = {_host_and_port(uri)[0] for uri in re.findall(r"^'([^']+)'", uris, re.MULTILINE)} - {""}
    direct = [host for host in sorted(hosts) if any(host == name or host.endswith(f".{name}") for name in exempt)]
    after = [f'Acquire::{kind}::Proxy::{host} "DIRECT";' for host in direct for kind in given]
    return "\n".join([*before, settings.rstrip("\n"), *after, ""])


def _host_and_port(uri: str) -> tuple[str, int]:
    """Return where a URI leads to, an empty host or no port if that is not known."""
    try:
        place = urllib.parse.urlsplit(uri)
        return place.hostname or "", place.port or _PROXY_PORTS.get(place.scheme, 0)
    except ValueError:  # what is no port, or no address of IPv6
        return "", 0


def _proxy_of(scheme: str, host: str, proxies: t.Mapping[tuple[str, str], str]) -> str:
    """Return what apt's settings say about the way to a host: that of the host counts more than that of all, and each of http counts for others, too."""
    given = (proxies.get((kind, name), "") for name in (host, "") for kind in (scheme, "http"))
    return next((proxy for proxy in given if proxy), "")


def _mirrors(uri: str, read: t.Callable[[str], str]) -> list[str]:
    """Return what apt asks for this URI: the mirrors of a file, or the place that has a list of them (apt-transport-mirror(1))."""
    scheme, _colon, rest = uri.partition(":")
    if scheme == "mirror+file":
        lines = [line.split() for line in read(urllib.parse.unquote(urllib.parse.urlsplit(uri).path)).splitlines()]
        return [words[0] for words in lines if words and not words[0].startswith("#")] or [uri]
    if scheme == "mirror":
        return [f"http:{rest}"]
    return [uri.removeprefix("mirror+")]


def parse_os_release(text: str) -> dict[str, str]:
    """Return the `id`, `version` and `name` of a distribution from os-release(5), each empty if the file does not say it."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and not key.startswith("#"):
            values[key] = _unquote(value)
    return {
        "id": values.get("ID", "").lower(),
        "version": values.get("VERSION_ID", ""),
        "name": values.get("PRETTY_NAME") or values.get("NAME", ""),
    }


def _unquote(value: str) -> str:
    """Return the first word of a value of shell, or all of one that no shell would take."""
    try:
        return "".join(shlex.split(value)[:1])
    except ValueError:  # a quote that is not closed
        return value
