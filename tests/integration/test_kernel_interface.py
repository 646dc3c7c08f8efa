"""Numbers of the kernel's interface: what netlink reports of real addresses, and that each constant has the value of the kernel's headers."""

from __future__ import annotations

import contextlib
import json
import pathlib
import re
import sys
import typing as t

import pytest
from _lan import Lan

PLUGINS = pathlib.Path(__file__).parents[2] / "plugins"
HEADERS = pathlib.Path("/usr/include/linux")
FILES = ("if_addr.h", "rtnetlink.h", "netlink.h", "in.h", "in6.h", "if.h", "sockios.h", "ethtool.h", "sched.h", "net.h")
OF_THE_KERNEL = re.compile(r"_(?:IFA|IFF|RTM|NLM|NLMSG|IP|IPV6|ETHTOOL|CLONE|SO)_|_SIOC")
ASSIGNMENT = re.compile(r"^(_\w+(?:, _\w+)*) = (0?x?[0-9a-f]+(?:, 0?x?[0-9a-f]+)*)(?:  #.*)?$", re.MULTILINE)
ADDRESSES = """\
import json
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.addresses import node_addresses, tunnel_address
found = node_addresses()
print(json.dumps([[str(one.ip) for one in found], tunnel_address(found, interface="eth0", cidr=None)]))
"""


@pytest.fixture
def lan() -> t.Iterator[Lan]:
    with contextlib.closing(Lan("node")) as built:
        built.ip("node", "address", "flush", "dev", "eth0")
        yield built


@pytest.mark.parametrize(
    ("added", "present", "chosen"),
    [
        pytest.param(
            [["2001:db8:1::1/64", "mngtmpaddr"]], ["2001:db8:1::1"], "2001:db8:1::1", id="by router advertisement"
        ),
        pytest.param(
            [["2001:db8:2::2/64"], ["2001:db8:1::1/64", "preferred_lft", "0"]],
            ["2001:db8:1::1", "2001:db8:2::2"],
            "2001:db8:2::2",
            id="a deprecated one comes last",
        ),
        pytest.param(
            [["2001:db8:1::1/64", "preferred_lft", "0"]], ["2001:db8:1::1"], "2001:db8:1::1", id="deprecated and alone"
        ),
    ],
)
def test_tunnel_address_is_stable(lan: Lan, added: list[list[str]], present: list[str], chosen: str) -> None:
    """With mngtmpaddr and use_tempaddr, the kernel adds a temporary address of its own, which is never used."""
    lan.run("node", "sh", "-c", "echo 2 > /proc/sys/net/ipv6/conf/eth0/use_tempaddr")
    for arguments in added:
        lan.ip("node", "address", "add", *arguments, "dev", "eth0", "nodad")
    listed = json.loads(lan.run("node", "ip", "-json", "-6", "address", "show", "dev", "eth0", "scope", "global"))
    temporary = [one["local"] for one in listed[0]["addr_info"] if one.get("temporary")]
    assert bool(temporary) is ("mngtmpaddr" in added[0])
    found, tunnel = json.loads(lan.run("node", sys.executable, "-c", ADDRESSES))
    assert (sorted(found), tunnel) == (present, chosen)


def kernel_constants() -> dict[str, int]:
    """Return what the kernel's headers define as a number, under its name."""
    found: dict[str, int] = {}
    for file in FILES:
        text = re.sub(r"/\*.*?\*/", "", (HEADERS / file).read_text(), flags=re.DOTALL)
        for body in re.findall(r"enum\s*\w*\s*{(.*?)}", text, re.DOTALL):
            number = -1
            for item in re.sub(r"#.*", "", body).split(","):
                name, _equals, value = (part.strip() for part in item.partition("="))
                with contextlib.suppress(ValueError):  # an expression that none of ours needs
                    number = found[name] = evaluate(value, found) if value else number + 1
        for name, value in re.findall(r"#define\s+(\w+)[ \t]+(\S.*)", text):
            with contextlib.suppress(ValueError):
                found[name] = evaluate(value, found)
    return found


def evaluate(text: str, known: dict[str, int]) -> int:
    """Return the value of numbers and known names with `|` or `<<` between them."""
    words = re.fullmatch(r"\(?\s*(\w+)\s*(?:(\||<<)\s*(\w+))?\s*\)?", text.strip())
    if words is None:
        raise ValueError(text)
    first = known[words[1]] if words[1] in known else int(words[1], 0)
    if not words[2]:
        return first
    second = known[words[3]] if words[3] in known else int(words[3], 0)
    return first | second if words[2] == "|" else first << second


def named_numbers(text: str) -> set[tuple[str, int]]:
    """Return the constants of this source that have a name of the kernel, without the underscore in front."""
    pairs = (pair for names, values in ASSIGNMENT.findall(text) for pair in zip(names.split(", "), values.split(", ")))
    return {(name[1:], int(value, 0)) for name, value in pairs if OF_THE_KERNEL.match(name)}


def test_kernel_constants_match_the_headers() -> None:
    of_the_kernel = kernel_constants()
    ours = {one for path in PLUGINS.rglob("*.py") for one in named_numbers(path.read_text())}
    assert len(ours) > 15
    assert {
        name: value for name, value in ours if of_the_kernel.get(name, of_the_kernel.get(f"__{name}")) != value
    } == {}


def test_headers_are_read() -> None:
    known = kernel_constants()
    assert (known["RTM_GETADDR"], known["NLM_F_DUMP"], known["IFA_F_MANAGETEMPADDR"]) == (22, 0x300, 0x100)
