"""ovn_raft_status against real clusters on loopback."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import pathlib
import socket
import threading
import typing as t

import pytest
from _waits import stays
from conftest import Daemon, listens, run, until

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def status(run_module: t.Any) -> t.Callable[..., t.Any]:
    """`status(cluster, ...)`: the module's result; where to ask defaults to all control sockets."""

    def ask(cluster: t.Any, may_fail: bool = False, limit: float = 60, **options: t.Any) -> t.Any:
        if not {"control_sockets", "endpoints"} & options.keys():
            options["control_sockets"] = cluster.control_sockets
        return run_module(
            "ovn_raft_status", {"database": cluster.database, **options}, timeout=limit, may_fail=may_fail
        )

    return ask


def problems(result: t.Any) -> set[str]:
    return {reason["code"] for reason in result["reasons"] if reason["severity"] == "problem"}


def messages(result: t.Any) -> str:
    return "\n".join(reason["message"] for reason in result["reasons"])


def eventually(look: t.Callable[[], t.Any], what: t.Callable[[t.Any], bool], timeout: float = 30) -> t.Any:
    """The first result that fits; a member's death takes a while to be noticed."""
    found: list[t.Any] = [None]

    def fits() -> bool:
        found[0] = look()
        return what(found[0])

    try:
        until(fits, "another verdict", timeout)
    except AssertionError as e:
        raise AssertionError(f"Still {found[0]['verdict']}: {messages(found[0])}") from e
    return found[0]


@contextlib.contextmanager
def listener(answer: bytes | None = None) -> t.Iterator[str]:
    """A port that accepts and says `answer`, or nothing ever."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        open_: list[socket.socket] = []
        ending = threading.Event()

        def serve() -> None:
            while not ending.is_set():
                with contextlib.suppress(OSError):
                    connection = server.accept()[0]
                    open_.append(connection)
                    if answer is not None:
                        connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}"
        finally:
            ending.set()
            thread.join()
            for connection in open_:
                connection.close()


# --- what works -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("database", ["northbound", "southbound"])
def test_three_members_by_control_sockets_are_healthy(database: str, raft_cluster: t.Any, status: t.Any) -> None:
    cluster = raft_cluster(3, database)
    cluster.await_same_log()
    result = status(cluster, expected_members=3, expected_cluster_id=cluster.cluster_id)
    assert result["verdict"] == "healthy", messages(result)
    assert (result["changed"], result["healthy"], result["writable"], result["ghosts"]) == (False, True, True, [])
    assert result["cluster_id"] == cluster.cluster_id
    assert result["leader"] == cluster.leader.control_socket
    assert result["election_timer"] == 1000
    assert {member["server_id"] for member in result["members"]} == {member.server_id for member in cluster.members}
    assert {member["address"] for member in result["members"]} == {member.address for member in cluster.members}
    for member in result["members"]:
        assert member["reachable"]
        assert member["connected"]
        assert member["lag"] == 0
        assert member["version"]


def test_three_members_by_endpoints_are_healthy(raft_cluster: t.Any, status: t.Any) -> None:
    cluster = raft_cluster(3)
    result = status(cluster, endpoints=[",".join(cluster.endpoints)], expected_members=3)
    assert result["verdict"] == "healthy", messages(result)
    assert result["leader"] == cluster.leader.endpoint.split(":")[1]
    assert result["term"] is None


def test_three_members_by_tls_are_healthy_and_tell_how_long_their_certificates_last(
    raft_cluster: t.Any, status: t.Any, pki: t.Any
) -> None:
    cluster = raft_cluster(3, "southbound", tls=pki)
    tls = pki.issue("status").options()
    result = status(cluster, endpoints=cluster.endpoints, expected_members=3, **tls)
    assert result["verdict"] == "healthy", messages(result)
    assert all(29 < member["certificate_days"] <= 30 for member in result["members"])
    warned = status(cluster, endpoints=cluster.endpoints, expected_members=3, certificate_days=40, **tls)
    assert warned["verdict"] == "healthy"
    assert [reason["code"] for reason in warned["reasons"]].count("certificate_expires") == 3


def test_control_sockets_and_endpoints_of_the_same_members_are_put_together(raft_cluster: t.Any, status: t.Any) -> None:
    cluster = raft_cluster(3)
    result = status(cluster, control_sockets=cluster.control_sockets, endpoints=cluster.endpoints, expected_members=3)
    assert result["verdict"] == "healthy", messages(result)
    assert len(result["members"]) == len(result["answers"]) == 3


def test_one_control_socket_takes_the_name_that_it_is_given(raft_cluster: t.Any, status: t.Any) -> None:
    cluster = raft_cluster(3)
    leader, follower = cluster.leader, cluster.followers[0]
    result = status(cluster, control_sockets=[leader.control_socket], member="central1")
    assert (result["verdict"], result["leader"]) == ("healthy", "central1"), messages(result)
    assert "partial_view" in {reason["code"] for reason in result["reasons"]}
    result = status(cluster, control_sockets=[follower.control_socket])
    assert (result["verdict"], result["writable"]) == ("degraded", True)
    assert result["leader"] == leader.address
    assert problems(result) == {"partial_view"}


def test_check_mode_gives_the_same(raft_cluster: t.Any, run_module: t.Any) -> None:
    cluster = raft_cluster(1)
    options = {"database": "northbound", "control_sockets": cluster.control_sockets}
    result = run_module("ovn_raft_status", options, check=True, diff=True)
    assert (result["verdict"], result["changed"]) == ("healthy", False)


# --- members that fail ------------------------------------------------------------------------------------------------


def test_a_killed_follower_is_degraded_and_two_are_no_quorum(raft_cluster: t.Any, status: t.Any) -> None:
    cluster = raft_cluster(3)
    first, second = cluster.followers
    first.kill()
    result = status(cluster, expected_members=3)
    assert (result["verdict"], result["writable"]) == ("degraded", True), messages(result)
    assert first.control_socket in messages(result)
    second.kill()
    result = eventually(lambda: status(cluster, expected_members=3), lambda r: r["verdict"] != "degraded", timeout=8)
    assert (result["verdict"], result["writable"], result["raw_read_only"]) == ("no_quorum", False, True)
    outside = status(cluster, endpoints=cluster.endpoints, expected_members=3)
    assert (outside["verdict"], outside["writable"]) == ("no_quorum", False)


def test_quorum_that_comes_back_is_waited_for(raft_cluster: t.Any, status: t.Any) -> None:
    cluster = raft_cluster(3)
    first, second = cluster.followers
    first.kill()
    second.kill()
    eventually(lambda: status(cluster, expected_members=3), lambda r: r["verdict"] == "no_quorum", timeout=8)
    # The daemons die with the thread that started them, so it is the module that runs beside.
    with concurrent.futures.ThreadPoolExecutor() as pool:
        waiting = pool.submit(status, cluster, wait_for="quorum", wait_timeout=30, expected_members=3)
        stays(lambda: not waiting.done(), "the module waits", 1.5)
        first.start(wait=False)
        result = waiting.result()
    assert (result["verdict"], result["writable"]) == ("degraded", True)
    second.start(wait=False)
    result = status(cluster, wait_for="healthy", wait_timeout=40, expected_members=3)
    assert result["healthy"]


def test_a_wait_that_is_not_reached_fails_with_the_last_verdict(raft_cluster: t.Any, status: t.Any) -> None:
    cluster = raft_cluster(3)
    cluster.followers[0].kill()
    result = status(cluster, wait_for="healthy", wait_timeout=1, expected_members=3, may_fail=True)
    assert result.failed
    assert "was not healthy within 1 s" in result["msg"]
    assert "degraded" in result["msg"]
    assert result["verdict"] == "degraded"


def test_frozen_members_cost_one_timeout(raft_cluster: t.Any, status: t.Any) -> None:
    cluster = raft_cluster(5)
    first, second = cluster.followers[:2]
    first.freeze()
    second.freeze()
    result = status(
        cluster,
        control_sockets=cluster.control_sockets,
        endpoints=cluster.endpoints,
        timeout=2,
        expected_members=5,
        limit=6,
    )
    assert (result["verdict"], result["writable"]) == ("degraded", True), messages(result)
    assert "timeout" in problems(result)
    first.thaw()
    second.thaw()
    assert status(cluster, wait_for="healthy", wait_timeout=30, expected_members=5)["healthy"]


def test_an_isolated_leader_is_not_believed(raft_cluster: t.Any, status: t.Any) -> None:
    cluster = raft_cluster(3)
    leader = cluster.leader
    for follower in cluster.followers:
        follower.freeze()
    alone = [leader.control_socket]
    result = eventually(
        lambda: status(cluster, control_sockets=alone), lambda r: r["verdict"] == "no_quorum", timeout=10
    )
    assert not result["writable"]


def test_a_new_leader_is_found_after_the_old_one_stopped(raft_cluster: t.Any, status: t.Any) -> None:
    cluster = raft_cluster(3)
    old = cluster.leader
    old.stop()
    result = status(cluster, wait_for="quorum", expected_members=3)
    assert result["leader"] not in (None, old.control_socket)
    assert result["verdict"] == "degraded"


def test_two_clusters_are_a_split(raft_cluster: t.Any, status: t.Any) -> None:
    one, two = raft_cluster(2), raft_cluster(1)
    sockets = [*one.control_sockets, *two.control_sockets]
    for result in (
        status(one, control_sockets=sockets, expected_members=3),
        status(one, endpoints=[*one.endpoints, *two.endpoints], expected_members=3),
    ):
        assert (result["verdict"], result["writable"]) == ("split", False)
        assert one.cluster_id in messages(result)
        assert two.cluster_id in messages(result)
    result = status(two, expected_cluster_id=one.cluster_id)
    assert result["verdict"] == "split"


def test_a_ghost_is_found(raft_cluster: t.Any, status: t.Any) -> None:
    cluster = raft_cluster(3)
    victim = cluster.members[2]
    old = victim.server_id
    victim.wipe()
    victim.join([member.address for member in cluster.members[:2]], cluster.cluster_id)
    victim.start()
    result = eventually(lambda: status(cluster, expected_members=3), lambda r: r["ghosts"], timeout=10)
    assert (result["verdict"], result["writable"]) == ("degraded", True)
    assert {"ghost", "member_count"} <= problems(result)
    assert [(ghost["server_id"], ghost["address"]) for ghost in result["ghosts"]] == [(old[:4], victim.address)]
    assert victim.server_id in {member["server_id"] for member in result["members"]}


def test_a_zombie_is_reported(raft_cluster: t.Any, status: t.Any) -> None:
    cluster = raft_cluster(3)
    zombie = cluster.followers[0]
    server_id = zombie.server_id
    zombie.kill()
    cluster.leader.appctl("cluster/kick", cluster.schema_name, server_id)
    eventually(
        lambda: status(cluster, control_sockets=[cluster.leader.control_socket]), lambda r: len(r["members"]) == 2
    )
    zombie.start(wait=False)
    result = eventually(lambda: status(cluster), lambda r: "not_listed" in problems(r))
    assert result["writable"]


def test_a_joiner_makes_it_forming(raft_cluster: t.Any, status: t.Any) -> None:
    cluster = raft_cluster(1)
    joiner = cluster.new_member()
    joiner.join(["tcp:127.0.0.1:1"], cluster.cluster_id)
    joiner.start(wait=False)
    result = status(cluster, expected_members=2)
    assert (result["verdict"], result["writable"]) == ("forming", True), messages(result)
    result = status(cluster, control_sockets=[joiner.control_socket])
    assert (result["verdict"], result["writable"]) == ("forming", False)
    result = status(cluster, endpoints=[joiner.endpoint])
    assert (result["verdict"], result["writable"]) == ("forming", False)


def test_a_member_that_joined_under_a_wrong_name_is_reported(raft_cluster: t.Any, status: t.Any) -> None:
    cluster = raft_cluster(2)
    wrong = cluster.new_member()
    wrong.join([cluster.members[0].address], cluster.cluster_id, name="OVN_Northbund")
    wrong.start(wait=False)
    result = eventually(lambda: status(cluster, expected_members=3), lambda r: "wrong_name" in problems(r), timeout=10)
    assert result["verdict"] == "degraded"
    assert "OVN_Northbund" in messages(result)


# --- places that are wrong --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        ("tcp:127.0.0.1:1", "Connection refused"),
        ("tcp:no-such-host.invalid:6641", "not known"),
        ("unix:/nowhere/db.sock", "No such file"),
        ("tcp:[::1]:1", "Connection refused"),
    ],
)
def test_nobody_there_is_unreachable_with_the_reason(endpoint: str, words: str, run_module: t.Any) -> None:
    result = run_module("ovn_raft_status", {"database": "northbound", "endpoints": [endpoint]})
    assert (result["verdict"], result["healthy"], result["writable"]) == ("unreachable", False, False)
    assert problems(result) == {"unreachable"}
    assert words in messages(result)


def test_the_default_is_the_control_socket_of_the_distribution(run_module: t.Any) -> None:
    if pathlib.Path("/run/ovn/ovnsb_db.ctl").exists():
        pytest.skip("An OVN of this machine's own is running.")
    result = run_module("ovn_raft_status", {"database": "southbound"})
    assert result["verdict"] == "unreachable"
    assert "/run/ovn/ovnsb_db.ctl" in messages(result)


@pytest.mark.parametrize("scheme", ["tcp", "ssl"])
def test_a_port_that_never_answers_costs_one_timeout(scheme: str, run_module: t.Any, pki: t.Any) -> None:
    with listener() as place:
        endpoints = [f"{scheme}:{place}", f"{scheme}:localhost:{place.split(':')[1]}"]
        options = {"database": "northbound", "endpoints": endpoints, "timeout": 1, **pki.issue("status").options()}
        result = run_module("ovn_raft_status", options, timeout=4)
    assert result["verdict"] == "unreachable"
    assert problems(result) == {"timeout"}


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.0 400 Bad Request\r\n\r\n",
        b"\x00\xff" * 100,
        b"{" * 100000,
        b"[" * 100000,
        b'{"a":' * 100000 + b"}",
        b"[]",
        b"{}",
        b'"x" ' * 50,
        b'{"id": "c0", "error": 7}',
        b'{"id": "c0", "error": {}}',
        b'{"id": "c0", "error": null, "result": 7}',
        b'{"id": "c0", "error": null, "result": [{"rows": [{}]}]}',
        b'{"id": "c0", "error": null, "result": [{"rows": [7]}]}',
        b'{"id": "c0", "error": null, "result": [{"rows": []}]}',
    ],
    ids=lambda answer: repr(answer[:60]),
)
def test_a_port_that_speaks_something_else_is_reported(answer: bytes, run_module: t.Any) -> None:
    with listener(answer) as place:
        result = run_module("ovn_raft_status", {"database": "northbound", "endpoints": [f"tcp:{place}"], "timeout": 1})
    assert result["verdict"] == "unreachable"
    assert problems(result) & {"refused", "timeout", "bad_answer", "unreachable", "no_database"}


def test_a_control_socket_that_is_a_plain_file_is_reported(run_module: t.Any, short_dir: pathlib.Path) -> None:
    file = short_dir / "db.ctl"
    file.write_text("")
    result = run_module("ovn_raft_status", {"database": "northbound", "control_sockets": [str(file)]})
    assert result["verdict"] == "unreachable"
    assert str(file) in messages(result)


@contextlib.contextmanager
def standalone_server(short_dir: pathlib.Path, schema: str) -> t.Iterator[tuple[str, str]]:
    """An ovsdb-server with one standalone database: its endpoint and its control socket."""
    file, sock, control = short_dir / "standalone.db", short_dir / "db.sock", f"{short_dir}/db.ctl"
    run("ovsdb-tool", "create", str(file), schema)
    command = ["ovsdb-server", "-vconsole:off", f"--remote=punix:{sock}", f"--unixctl={control}", str(file)]
    server = Daemon(command, short_dir / "server.log")
    try:
        until(lambda: listens(sock), f"{sock} of a standalone server")
        yield f"unix:{sock}", control
    finally:
        server.kill()


def test_another_database_at_the_endpoint_is_reported(
    daemons: None, run_module: t.Any, short_dir: pathlib.Path
) -> None:
    with standalone_server(short_dir, "/usr/share/openvswitch/vswitch.ovsschema") as (endpoint, control):
        result = run_module("ovn_raft_status", {"database": "northbound", "endpoints": [endpoint]})
        assert result["verdict"] == "unreachable"
        assert problems(result) == {"no_database"}
        assert "serves Open_vSwitch, not OVN_Northbound" in messages(result)
        result = run_module("ovn_raft_status", {"database": "northbound", "control_sockets": [control]})
        assert (result["verdict"], problems(result)) == ("unreachable", {"no_database"}), messages(result)


def test_a_standalone_database_is_no_cluster(daemons: None, run_module: t.Any, short_dir: pathlib.Path) -> None:
    with standalone_server(short_dir, "/usr/share/ovn/ovn-nb.ovsschema") as (endpoint, control):
        result = run_module("ovn_raft_status", {"database": "northbound", "endpoints": [endpoint]})
        assert (result["verdict"], problems(result)) == ("unreachable", {"not_clustered"}), messages(result)
        result = run_module("ovn_raft_status", {"database": "northbound", "control_sockets": [control]})
        assert (result["verdict"], problems(result)) == ("unreachable", {"not_clustered", "no_database"}), messages(
            result
        )


# --- TLS --------------------------------------------------------------------------------------------------------------


def test_certificate_trouble_is_reported_as_such(raft_cluster: t.Any, status: t.Any, make_pki: t.Any) -> None:
    pki, stranger = make_pki("ca"), make_pki("stranger")
    cluster = raft_cluster(1, tls=pki)
    good = pki.issue("good").options()
    foreign = stranger.issue("foreign").options()
    cases = {
        "of another authority": foreign,
        "own certificate of another authority": {**foreign, "ca_certificate": good["ca_certificate"]},
        "expired": pki.issue("expired", days=-2).options(),
        "key of somebody else": {**good, "private_key": foreign["private_key"]},
        "no such file": {**good, "certificate": "/nowhere/cert.pem"},
        "not a certificate": {**good, "ca_certificate": good["private_key"]},
    }
    for sentence, tls in cases.items():
        result = status(cluster, endpoints=cluster.endpoints, **tls)
        assert result["verdict"] == "unreachable", sentence
        assert problems(result) == {"certificate"}, f"{sentence}: {messages(result)}"


def test_a_server_with_an_expired_certificate_is_reported(raft_cluster: t.Any, status: t.Any, pki: t.Any) -> None:
    cluster = raft_cluster(0, tls=pki)
    member = cluster.new_member()
    member.tls = pki.issue("old", days=-1)
    member.create()
    member.start()
    result = status(cluster, endpoints=cluster.endpoints, **pki.issue("status").options())
    assert problems(result) == {"certificate"}
    assert "expired" in messages(result)


def test_tls_against_a_plain_port_and_the_other_way_round(raft_cluster: t.Any, status: t.Any, pki: t.Any) -> None:
    plain, secure = raft_cluster(1), raft_cluster(1, tls=pki)
    tls = pki.issue("status").options()
    result = status(plain, endpoints=[plain.endpoints[0].replace("tcp:", "ssl:")], timeout=2, **tls)
    assert (result["verdict"], problems(result) <= {"certificate", "timeout"}) == ("unreachable", True), messages(
        result
    )
    result = status(secure, endpoints=[secure.endpoints[0].replace("ssl:", "tcp:")], timeout=2)
    assert result["verdict"] == "unreachable", messages(result)


# --- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"endpoints": ["192.0.2.1:6641"]}, "is not an OVSDB endpoint"),
        ({"endpoints": ["pssl:6641"]}, "is not an OVSDB endpoint"),
        ({"endpoints": ["ssl:127.0.0.1:1"]}, "private_key"),
        ({"endpoints": ["ssl:127.0.0.1:1"], "private_key": "/a"}, "certificate"),
        ({"endpoints": [], "control_sockets": []}, "at least one place"),
        ({"endpoints": ["ü" * 10000]}, "is not an OVSDB endpoint"),
        ({"timeout": 0}, "timeout is 0"),
        ({"wait_timeout": -1}, "wait_timeout is -1"),
        ({"expected_members": 0}, "expected_members is 0"),
        ({"control_sockets": ["/a", "/b"], "member": "x"}, "several"),
        ({"database": "westbound"}, "northbound"),
        (
            {"cluster": "ovn", "endpoints": ["tcp:192.0.2.1:6641"]},
            "parameters are mutually exclusive: cluster|endpoints",
        ),
        (
            {"cluster": "ovn", "member": "central1"},
            "parameters are mutually exclusive: cluster|member",
        ),
        (
            {"cluster": "ovn", "kubeconfig": "/nowhere/kubeconfig"},
            "/nowhere/kubeconfig",
        ),
    ],
    ids=str,
)
def test_options_that_can_never_work_fail(options: dict[str, t.Any], words: str, run_module: t.Any) -> None:
    result = run_module("ovn_raft_status", {"database": "northbound", **options}, may_fail=True)
    assert result.failed
    assert words in result["msg"]
    assert len(result["msg"]) < 1000


# --- several hosts ----------------------------------------------------------------------------------------------------


def test_three_hosts_each_ask_their_own_member(
    raft_cluster: t.Any, run_playbook: t.Any, short_dir: pathlib.Path
) -> None:
    cluster = raft_cluster(3, "southbound")
    inventory = short_dir / "inventory.json"
    hosts = {
        member.name: {
            "ansible_connection": "local",
            "ansible_python_interpreter": "{{ ansible_playbook_python }}",
            "ctl": member.control_socket,
        }
        for member in cluster.members
    }
    inventory.write_text(json.dumps({"all": {"hosts": hosts}}))
    output = short_dir / "verdict.json"
    verdict = "{{ dict(ansible_play_hosts_all | zip(ansible_play_hosts_all | map('extract', hostvars, 'seen'))) | c5c3.ovn.raft_verdict(3) }}"
    tasks = [
        {
            "c5c3.ovn.ovn_raft_status": {
                "database": "southbound",
                "control_sockets": ["{{ ctl }}"],
                "member": "{{ inventory_hostname }}",
            },
            "register": "seen",
        },
        {
            "ansible.builtin.copy": {"content": verdict, "dest": str(output), "mode": "0600"},
            "run_once": True,
        },
    ]
    run_playbook([{"hosts": "all", "gather_facts": False, "tasks": tasks}], inventory=str(inventory))
    result = json.loads(output.read_text())
    assert result["verdict"] == "healthy", result["reasons"]
    assert result["leader"] == cluster.leader.name
    assert sorted(member["member"] for member in result["members"]) == ["m1", "m2", "m3"]
