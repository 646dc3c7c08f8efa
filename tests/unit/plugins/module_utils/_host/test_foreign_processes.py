"""Where the files of a process with another root directory are, and which database the first record of a file names."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._host.foreign_processes import (
    _NAME,
    ControlPlaneProcess,
    _read_first_record,
    control_socket,
    parse_command_line,
    resolve_below,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._machine.supervisor import Supervisor

FILE = "/var/lib/openvswitch/ovnnb.db"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root directory as an image has it, and beside it what a way out would lead to."""
    root = tmp_path / "root"
    (root / "run/ovn").mkdir(parents=True)
    (root / "srv/ovn").mkdir(parents=True)
    (root / "var").mkdir()
    (root / "var/run").symlink_to("/run")
    (root / "var/lock").symlink_to("../run/./lock")
    (root / "data").symlink_to("/srv//ovn/")
    (root / "data2").symlink_to("var/../data")
    (root / "outside").symlink_to("../../../../etc")
    (root / "top").symlink_to("/")
    (root / "dangling").symlink_to("/not/there")
    (root / "srv/ovn/ovnnb.db").symlink_to("current.db")
    (root / "loop").symlink_to("loop2")
    (root / "loop2").symlink_to("/loop")
    (tmp_path / "etc").mkdir()
    return root


@pytest.mark.parametrize(
    ("path", "place"),
    [
        pytest.param("/run/ovn/ovnnb.ctl", "run/ovn/ovnnb.ctl", id="no link"),
        pytest.param("/var/run/ovn/ovnnb.ctl", "run/ovn/ovnnb.ctl", id="an absolute link"),
        pytest.param("/var/lock/x", "run/lock/x", id="a relative link"),
        pytest.param("/data/x.db", "srv/ovn/x.db", id="slashes in a link"),
        pytest.param("/data2/x.db", "srv/ovn/x.db", id="a link to a link"),
        pytest.param("/data/ovnnb.db", "srv/ovn/current.db", id="the file is a link as well"),
        pytest.param("/var/run", "run", id="a link at the end"),
        pytest.param("/top/top/run", "run", id="a link to the root directory"),
        pytest.param("/srv/../run/./ovn//x", "run/ovn/x", id="dots and slashes"),
        pytest.param("/var/run/../srv", "srv", id="the directory above the target of a link"),
        pytest.param("/../../run", "run", id="nothing is above the root directory"),
        pytest.param("/outside/passwd", "etc/passwd", id="a link does not lead out"),
        pytest.param("/missing/a/b", "missing/a/b", id="missing parts"),
        pytest.param("/dangling/x", "not/there/x", id="a link to what is missing"),
        pytest.param("/srv/ovn/x/../ovnnb.db", "srv/ovn/current.db", id="above what is missing"),
    ],
)
def test_a_path_is_followed_as_the_process_would(root: Path, path: str, place: str) -> None:
    assert resolve_below(str(root), path) == f"{root}/{place}"


def test_what_lies_below_a_file_is_not_there(root: Path) -> None:
    (root / "file").touch()
    assert resolve_below(str(root), "/file/x") == f"{root}/file/x"
    assert not os.path.exists(f"{root}/file/x")


@pytest.mark.parametrize("path", ["/loop", "/loop2/x", "/var/../loop/x"])
def test_links_that_lead_to_each_other_are_refused(root: Path, path: str) -> None:
    with pytest.raises(OvnError, match=f"^{path} below {root} has too many symbolic links"):
        resolve_below(str(root), path)


def test_forty_links_are_followed_as_by_the_kernel(root: Path) -> None:
    for number in range(41):
        (root / f"l{number}").symlink_to(f"l{number - 1}" if number else "run")
    assert resolve_below(str(root), "/l39") == f"{root}/run"
    with pytest.raises(OvnError, match="too many"):
        resolve_below(str(root), "/l40")


@pytest.mark.parametrize("path", [FILE, "/var/run/../x", "relative", ""])
def test_a_process_with_our_root_directory_has_our_paths(path: str) -> None:
    assert resolve_below("", path) == path


@pytest.mark.parametrize(
    ("name", "options", "path"),
    [
        pytest.param("northd", (), "/run/ovn/ovn-northd.PID.ctl", id="northd"),
        pytest.param("northbound", (), "/run/openvswitch/ovsdb-server.PID.ctl", id="a database"),
        pytest.param("southbound", (), "/run/openvswitch/ovsdb-server.PID.ctl", id="the other database"),
        pytest.param("northbound", ("--unixctl=/run/ovn/x.ctl",), "/run/ovn/x.ctl", id="a path"),
        pytest.param("northbound", ("--unixctl=x.ctl",), "/run/openvswitch/x.ctl", id="a name of a database's socket"),
        pytest.param("northd", ("--unixctl", "x.ctl"), "/run/ovn/x.ctl", id="a name of northd's socket"),
    ],
)
def test_where_a_control_socket_is(name: str, options: tuple[str, ...], path: str) -> None:
    command = parse_command_line(options, "ovn-northd" if name == "northd" else "ovsdb-server")
    process = ControlPlaneProcess(name, os.getpid(), Supervisor("none"), command, "/proc/1/root")
    assert control_socket(process) == path.replace("PID", str(os.getpid()))


NAME = b'"name":"OVN_Northbound"'
LIMIT = 2**18


def record(size: int) -> bytes:
    """The first record of a member's file: as many bytes, with the name at its end, as after a compaction."""
    data = b'{"prev_data":["' + b"x" * (size - len(NAME) - 19) + b'"],' + NAME + b"}"
    assert len(data) == size
    assert json.loads(data)["name"] == "OVN_Northbound"
    return b"OVSDB CLUSTER %d %040x\n" % (size, 7) + data


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(100, id="short"),
        pytest.param(LIMIT - 62, id="it ends with what is read first"),
        pytest.param(LIMIT - 50, id="the name lies across that end"),
        pytest.param(LIMIT, id="the name begins behind it"),
        pytest.param(2 * LIMIT - 1, id="twice as long"),
        pytest.param(2 * LIMIT + 1, id="longer than both ends"),
        pytest.param(9 * LIMIT, id="much longer"),
    ],
)
def test_the_name_at_the_end_of_a_long_record_is_read(tmp_path: Path, size: int) -> None:
    file = tmp_path / "ovnnb.db"
    file.write_bytes(record(size) + b"OVSDB CLUSTER 30 0\n" + NAME.replace(b"North", b"South") + b"\n" * LIMIT)
    read = _read_first_record(str(file))
    match = _NAME.search(read)
    assert match is not None
    assert match[1] == b"OVN_Northbound"
    assert len(read) <= 2 * LIMIT


@pytest.mark.parametrize("size", [LIMIT, 2 * LIMIT + 1])
def test_what_comes_after_a_long_record_is_not_read(tmp_path: Path, size: int) -> None:
    file = tmp_path / "conf.db"
    file.write_bytes(record(size).replace(NAME, NAME.replace(b"OVN", b"XYZ")) + NAME)
    assert _NAME.search(_read_first_record(str(file))) is None


def test_a_standalone_file_is_read_from_its_start(tmp_path: Path) -> None:
    file = tmp_path / "ovnnb.db"
    file.write_bytes(b"OVSDB JSON 9 0\n{" + NAME + b"}" + b"x" * LIMIT + NAME.replace(b"North", b"South"))
    assert len(_read_first_record(str(file))) == LIMIT


def test_first_record_is_not_read_from_a_pipe(tmp_path: Path) -> None:
    """A process has its terminal or pipes open as well: to read one of them waits, and takes what is in it."""
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["sh", "-c", f"echo x > {tmp_path}/pipe"]) as writer:
        assert _read_first_record(str(tmp_path / "pipe")) == b""
        writer.kill()


def test_a_file_that_is_not_there_names_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert _read_first_record(str(tmp_path / "missing")) == b""
    assert _read_first_record(str(tmp_path / "file" / "x")) == b""
    assert _read_first_record(str(tmp_path / "file")) == b""


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
