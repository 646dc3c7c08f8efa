"""What dpkg and apt print, as Debian's do."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._machine.apt_output import (
    InstalledPackage,
    have_lists,
    parse_archives,
    parse_candidates,
    parse_needs,
    parse_obtainable,
    parse_os_release,
    parse_records,
    parse_status,
    proxies_of_environment,
)


@pytest.mark.parametrize(
    ("depends", "expected"),
    [
        ("", {}),
        ("libc6 (>= 2.34), ovn-common (= 25.03.0-1), adduser", {"ovn-common": "25.03.0-1"}),
        ("openvswitch-common (= 1:3.5.0-1), python3:any", {"openvswitch-common": "1:3.5.0-1"}),
        ("ovn-common:amd64 (=25.03.0-1)", {"ovn-common": "25.03.0-1"}),
        ("a (= 1) | b", {}),
    ],
)
def test_what_a_package_needs_in_one_version(depends: str, expected: dict[str, str]) -> None:
    assert parse_needs(depends) == expected


def test_the_database_of_dpkg() -> None:
    text = """\
ovn-host\tinstall\tinstalled\t23.03.1-1~deb12u2\tlibc6 (>= 2.34), ovn-common (= 23.03.1-1~deb12u2)
ovn-common\thold\tinstalled\t23.03.1-1~deb12u2\t
man-db\tinstall\ttriggers-pending\t2.11.2-2\t
nginx\tdeinstall\tconfig-files\t1.22.1-9\t
ovn-central\tinstall\thalf-configured\t23.03.1-1~deb12u2\tovn-common (= 23.03.1-1~deb12u2)
never\tunknown\tnot-installed\t\t
"""
    status = parse_status(text)
    assert status.installed == {
        "ovn-host": InstalledPackage("23.03.1-1~deb12u2", False, {"ovn-common": "23.03.1-1~deb12u2"}),
        "ovn-common": InstalledPackage("23.03.1-1~deb12u2", True, {}),
        "man-db": InstalledPackage("2.11.2-2", False, {}),
    }
    assert status.interrupted == ["ovn-central"]


POLICY = """\
ovn-host:
  Installed: 23.03.1-1~deb12u2
  Candidate: 25.03.0-1
  Version table:
     25.03.0-1 500
        500 http://deb.debian.org/debian trixie/main amd64 Packages
 *** 23.03.1-1~deb12u2 100
        100 /var/lib/dpkg/status
ovn-docker:
  Installed: (none)
  Candidate: (none)
  Version table:
"""


def test_what_apt_would_install() -> None:
    assert parse_candidates(POLICY) == {"ovn-host": "25.03.0-1"}


def test_what_sources_have() -> None:
    text = """\
  ovn-host | 25.03.0-1 | http://deb.debian.org/debian trixie/main amd64 Packages
  ovn-host | 25.03.0-1 | http://mirror.example.com/debian trixie/main amd64 Packages
  ovn-host | 23.03.1-1~deb12u2 | file:/srv/packages ./ Packages
       ovn | 25.03.0-1 | http://deb.debian.org/debian trixie/main Sources
"""
    assert parse_obtainable(text) == {"ovn-host": ["25.03.0-1", "23.03.1-1~deb12u2"]}


def test_what_each_version_needs() -> None:
    text = """\
Package: ovn-host
Source: ovn
Version: 25.03.0-1
Depends: libc6, ovn-common (= 25.03.0-1)
Description: OVN host components
 Version: not a field

Package: ovn-common
Version: 25.03.0-1

"""
    assert parse_records(text) == {
        "ovn-host": {"25.03.0-1": {"ovn-common": "25.03.0-1"}},
        "ovn-common": {"25.03.0-1": {}},
    }


BOTH = [("mirror.example.com", 80), ("deb.debian.org", 443)]


def no_mirrors(_path: str) -> str:
    return ""


URIS = """\
'http://deb.debian.org/debian/dists/bookworm/InRelease' deb.debian.org_debian_dists_bookworm_InRelease 0
'http://deb.debian.org/debian/dists/bookworm-updates/InRelease' deb.debian.org_debian_dists_bookworm-updates_InRelease 0
'https://archive.example.com:8443/x/InRelease' archive.example.com_x_InRelease 0
'file:/srv/archive/InRelease' _srv_archive_InRelease 0
"""


LISTS = [
    "deb.debian.org_debian_dists_bookworm_InRelease",
    "deb.debian.org_debian_dists_bookworm_main_binary-amd64_Packages.lz4",
    "deb.debian.org_debian_dists_bookworm-updates_InRelease",
    "archive.example.com_x_Release",
    "_srv_archive_Packages",
]
CDROM = "'cdrom://Debian/dists/x/InRelease' Debian_dists_x_InRelease 0 \n"


@pytest.mark.parametrize(
    ("uris", "files", "complete"),
    [
        pytest.param(URIS, LISTS, True, id="all"),
        pytest.param(URIS, LISTS[2:], False, id="the list of one suite is another's with a longer name"),
        pytest.param(URIS, LISTS[:-1], False, id="a folder without its list"),
        pytest.param(URIS, ["lock", "partial"], False, id="a cloud image"),
        pytest.param(URIS + CDROM, LISTS, True, id="a medium gets its list another way"),
        pytest.param("", LISTS, False, id="no source"),
    ],
)
def test_whether_the_lists_of_all_sources_are_there(uris: str, files: list[str], complete: bool) -> None:
    assert have_lists(uris, files) == complete


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param("", [("deb.debian.org", 80), ("archive.example.com", 8443)], id="directly"),
        pytest.param(
            'Acquire::http::Proxy "http://proxy.example.com:3128";\n',
            [("proxy.example.com", 3128)],
            id="a proxy for both",
        ),
        pytest.param(
            'Acquire::http::Proxy "http://proxy.example.com:3128";\nAcquire::https::Proxy "DIRECT";\n',
            [("proxy.example.com", 3128), ("archive.example.com", 8443)],
            id="https goes directly",
        ),
        pytest.param(
            'Acquire::http::Proxy "http://proxy.example.com:3128";\nAcquire::http::Proxy::deb.debian.org "DIRECT";\n',
            [("deb.debian.org", 80), ("proxy.example.com", 3128)],
            id="one host goes directly",
        ),
        pytest.param(
            'Acquire::https::Proxy::archive.example.com "https://other.example.com";\n',
            [("deb.debian.org", 80), ("other.example.com", 443)],
            id="a proxy for one host",
        ),
        pytest.param(
            'Acquire::http::Proxy "socks5h://proxy.example.com";\n', [("proxy.example.com", 1080)], id="SOCKS"
        ),
        pytest.param('Acquire::http::Proxy-Auto-Detect "/usr/bin/x";\n', [], id="a program names the proxy"),
        pytest.param(
            'Acquire::http::ProxyAutoDetect "/usr/bin/x";\nAcquire::http::Proxy::deb.debian.org "DIRECT";\n',
            [("deb.debian.org", 80)],
            id="a program names the proxy of the others",
        ),
    ],
)
def test_where_archives_are(settings: str, expected: list[tuple[str, int]]) -> None:
    found = parse_archives(URIS, settings, no_mirrors)
    assert found.places == expected
    assert found.unprobed[-1] == "file:"
    assert (len(found.unprobed) > 1) == ("Detect" in settings)


MIRRORS = "http://mirror.example.com/debian\tpriority:1\n# a comment\n\nhttps://deb.debian.org/debian type:deb\n"


@pytest.mark.parametrize(
    ("uri", "places", "unprobed"),
    [
        pytest.param("mirror+file:/etc/apt/mirrors/debian.list/dists/x/InRelease", BOTH, [], id="a file of mirrors"),
        pytest.param("mirror+file:/etc/a%20b.list/dists/x/InRelease", BOTH, [], id="a path with a blank"),
        pytest.param("mirror+file:/gone/dists/x/InRelease", [], ["mirror+file:"], id="its file is gone"),
        pytest.param("mirror+http://m.example.com/list/dists/x/InRelease", [("m.example.com", 80)], [], id="by http"),
        pytest.param("mirror+https://m.example.com:8443/InRelease", [("m.example.com", 8443)], [], id="by https"),
        pytest.param("mirror://m.example.com/list/dists/x/InRelease", [("m.example.com", 80)], [], id="the old name"),
        pytest.param("cdrom://Debian/dists/x/InRelease", [], ["cdrom:"], id="a medium"),
        pytest.param("http://deb.example.com:x/InRelease", [], ["http://deb.example.com:x/InRelease"], id="no port"),
        pytest.param("copy:/srv/archive/InRelease", [], ["copy:"], id="copies"),
        pytest.param(
            "tor+http://deb.example.com/InRelease", [], ["tor+http:"], id="through Tor, which has a way of its own"
        ),
    ],
)
def test_archives_behind_other_schemes(uri: str, places: list[tuple[str, int]], unprobed: list[str]) -> None:
    files = {"/etc/apt/mirrors/debian.list/dists/x/InRelease": MIRRORS, "/etc/a b.list/dists/x/InRelease": MIRRORS}
    assert parse_archives(f"'{uri}' a_name 0\n", "", lambda path: files.get(path, "")) == (places, unprobed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '# a comment="x"\nPRETTY_NAME="Ubuntu 24.04.1 LTS"\nNAME="Ubuntu"\nVERSION_ID="24.04"\nID=ubuntu\nID_LIKE=debian\n',
            {"id": "ubuntu", "version": "24.04", "name": "Ubuntu 24.04.1 LTS"},
        ),
        ("NAME='Rocky Linux'\nID=\"rocky\"\n", {"id": "rocky", "version": "", "name": "Rocky Linux"}),
        ('# a comment=1\nID=odd\nNAME="Odd\nVERSION_ID=1\n', {"id": "odd", "version": "1", "name": '"Odd'}),
        ("", {"id": "", "version": "", "name": ""}),
    ],
)
def test_the_distribution(text: str, expected: dict[str, str]) -> None:
    assert parse_os_release(text) == expected


OWN = 'Acquire::http::Proxy "http://own.example.com:3128";'


@pytest.mark.parametrize(
    ("settings", "proxy", "environment", "places"),
    [
        pytest.param("", "", {}, ["a.example.com:80", "b.lan:443"], id="none"),
        pytest.param("", "", {"http_proxy": "http://p:1"}, ["p:1"], id="http counts for https"),
        pytest.param("", "", {"https_proxy": "http://s:2"}, ["a.example.com:80", "s:2"], id="https alone"),
        pytest.param(
            "", "http://run:3", {"http_proxy": "http://p:1", "https_proxy": "http://s:2"}, ["run:3"], id="of the run"
        ),
        pytest.param(
            OWN, "http://run:3", {"https_proxy": "http://s:2"}, ["own.example.com:3128"], id="own settings of apt"
        ),
        pytest.param(
            "", "", {"http_proxy": "http://p:1", "no_proxy": "x, .lan"}, ["p:1", "b.lan:443"], id="a domain without"
        ),
        pytest.param(
            OWN, "", {"no_proxy": "a.example.com"}, ["a.example.com:80", "own.example.com:3128"], id="a host without"
        ),
    ],
)
def test_proxies_of_the_environment(settings: str, proxy: str, environment: dict[str, str], places: list[str]) -> None:
    uris = "'http://a.example.com/x' x 0\n'https://b.lan/y' y 0\n"
    found = parse_archives(uris, proxies_of_environment(settings, uris, proxy, environment), lambda _path: "")
    assert [f"{host}:{port}" for host, port in found.places] == places
