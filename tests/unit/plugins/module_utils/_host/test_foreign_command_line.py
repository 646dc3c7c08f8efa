"""What a daemon's command line says."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._host.foreign_command_line import parse_command_line

OF_OVN_CTL = [
    "-vconsole:off",
    "-vfile:info",
    "--log-file=/var/log/ovn/ovsdb-server-nb.log",
    "--remote=punix:/var/run/ovn/ovnnb_db.sock",
    "--pidfile=/var/run/ovn/ovnnb_db.pid",
    "--unixctl=/var/run/ovn/ovnnb_db.ctl",
    "--remote=db:OVN_Northbound,NB_Global,connections",
    "--private-key=db:OVN_Northbound,SSL,private_key",
    "--certificate=db:OVN_Northbound,SSL,certificate",
    "--ca-cert=/etc/ovn/ca.pem",
    "--ssl-protocols=db:OVN_Northbound,SSL,ssl_protocols",
    "--remote=ptcp:6641:0.0.0.0",
    "/var/lib/ovn/ovnnb_db.db",
]


def test_a_server_of_ovn_ctl() -> None:
    command = parse_command_line(OF_OVN_CTL, "ovsdb-server")
    assert command.files == ("/var/lib/ovn/ovnnb_db.db",)
    assert command.remotes == (
        "punix:/var/run/ovn/ovnnb_db.sock",
        "db:OVN_Northbound,NB_Global,connections",
        "ptcp:6641:0.0.0.0",
    )
    assert command.value("--unixctl") == "/var/run/ovn/ovnnb_db.ctl"
    assert command.value("--private-key") == "db:OVN_Northbound,SSL,private_key"
    assert command.value("--ca-cert") == "/etc/ovn/ca.pem"
    assert command.value("--user") == ""


@pytest.mark.parametrize(
    ("words", "option", "value", "files"),
    [
        pytest.param("-p key.pem a.db", "--private-key", "key.pem", ("a.db",), id="a short option and its value"),
        pytest.param("-C/ca.pem a.db", "--ca-cert", "/ca.pem", ("a.db",), id="a short option with its value"),
        pytest.param("--remote punix:x a.db", "--remote", "punix:x", ("a.db",), id="a long option and its value"),
        pytest.param("--monitor a.db b.db", "--monitor", "", ("a.db", "b.db"), id="a long option without a value"),
        pytest.param("--unixctl=a --unixctl=b", "--unixctl", "b", (), id="the last one counts"),
        pytest.param("-v a.db", "--verbose", "", ("a.db",), id="a short option without a value"),
        pytest.param("--log-file --remote=punix:x a.db", "--remote", "punix:x", ("a.db",), id="an optional value"),
        pytest.param("--pidfile a.db", "--pidfile", "", ("a.db",), id="an optional value is never the next word"),
        pytest.param("--replay --unixctl=x a.db", "--unixctl", "x", ("a.db",), id="an optional value of a rare option"),
        pytest.param("--rem punix:x --un=c a.db", "--remote", "punix:x", ("a.db",), id="an abbreviation"),
        pytest.param("--no-c --un c a.db", "--unixctl", "c", ("a.db",), id="an abbreviation without a value"),
        pytest.param("--ssl-c ALL a.db", "--ssl-ciphers", "ALL", ("a.db",), id="ambiguous in a later version"),
        pytest.param("--run sh --remote=x a.db", "--run", "sh", ("a.db",), id="a command"),
        pytest.param("--later x a.db", "--later", "", ("x", "a.db"), id="an unknown option hides no file"),
        pytest.param("--unixctl=c -- --a.db", "--unixctl", "c", ("--a.db",), id="the end of the options"),
        pytest.param("a.db -p", "--private-key", "", ("a.db",), id="a command line that is cut off"),
    ],
)
def test_other_forms(words: str, option: str, value: str, files: tuple[str, ...]) -> None:
    command = parse_command_line(words.split(), "ovsdb-server")
    assert (command.value(option), command.files) == (value, files)
