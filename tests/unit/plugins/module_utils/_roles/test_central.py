"""What the options of ovn_central mean, on machines and in Kubernetes."""

from __future__ import annotations

import dataclasses
import json
import re
import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.sizing import Size
from ansible_collections.c5c3.ovn.plugins.module_utils._roles import central
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.central import (
    ONLY_MACHINES,
    PREFIX,
    CentralClusterOptions,
    CentralMachineOptions,
    CentralRolloutOptions,
    DesiredCentralCluster,
    certificate_name_problem,
    cluster_problem,
    cluster_spec,
    desired_cluster,
    desired_state,
    host_share,
    options_for_machines,
    rollout_arguments,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.option_types import (
    check_options,
    option_name,
    options_from,
    read_options,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.shared_variables import SPECIFICATION

SPECS = Path(__file__).resolve().parents[5] / "roles/ovn_central/meta/argument_specs.yml"
NOT_OPTIONS = ("wait_timeout",)  # a shared variable whose default is the role's own
ADDRESSES = {"c1": "192.0.2.11", "c2": "2001:db8::12", "c3": "c3"}


def machine(
    given: dict[str, t.Any] | None = None,
    host: str = "c2",
    sizes: dict[str, Size] | None = None,
    members: t.Iterable[str] = ("c1", "c2", "c3"),
) -> t.Any:
    addresses = {member: ADDRESSES[member] for member in members}
    return desired_state(machine_options(given or {}), host, addresses, sizes or {})


def machine_options(given: dict[str, t.Any]) -> CentralMachineOptions:
    """As a step reads them."""
    values = {option_name("ovn_central_", name): value for name, value in given.items()}
    checked = check_options("c2", {**SPECIFICATION, **documented()}, values)
    return options_from(CentralMachineOptions, checked, "ovn_central_")


def documented() -> dict[str, t.Any]:
    options: dict[str, t.Any] = yaml.safe_load(SPECS.read_text(encoding="utf-8"))["argument_specs"]["main"]["options"]
    return options


def of_databases(desired: t.Any, name: str) -> dict[str, t.Any]:
    return {database: values[name] for database, values in desired["databases"].items()}


def of_settings(desired: t.Any, name: str) -> dict[str, t.Any]:
    return {database: settings[name] for database, settings in of_databases(desired, "settings").items()}


def cluster(given: dict[str, t.Any]) -> CentralClusterOptions:
    return read_options(CentralClusterOptions, given, PREFIX)


@pytest.mark.parametrize("options", [CentralMachineOptions, CentralClusterOptions])
def test_defaults_are_those_of_the_role(options: t.Any) -> None:
    for field in dataclasses.fields(options):
        if field.name not in NOT_OPTIONS:
            factory = field.default_factory
            default = field.default if factory is dataclasses.MISSING else factory()
            declared = {**SPECIFICATION, **documented()}[option_name("ovn_central_", field.name)]
            assert declared.get("default") == default, field.name


class TestAddresses:
    def test_members_find_each_other(self) -> None:
        assert machine()["raft_addresses"] == {
            "northbound": {"c1": "ssl:192.0.2.11:6643", "c2": "ssl:[2001:db8::12]:6643", "c3": "ssl:c3:6643"},
            "southbound": {"c1": "ssl:192.0.2.11:6644", "c2": "ssl:[2001:db8::12]:6644", "c3": "ssl:c3:6644"},
        }

    def test_without_tls(self) -> None:
        desired = machine({"tls": "false"})
        assert set(desired["raft_addresses"]["northbound"].values()) == {
            "tcp:192.0.2.11:6643",
            "tcp:[2001:db8::12]:6643",
            "tcp:c3:6643",
        }
        assert "ssl" not in str(desired)
        assert "tls" not in str(desired)


class TestLauncher:
    def test_environment(self) -> None:
        desired = machine({"log_level": "dbg"})
        assert desired["databases"]["southbound"]["environment"] == {
            "OVN_DATABASE": "southbound",
            "OVN_MEMBER": "c2",
            "OVN_LOCAL_ADDRESS": "ssl:[2001:db8::12]:6644",
            "OVN_RECORD_DIR": "/etc/c5c3-ovn/southbound",
            "OVN_DB_FILE": "/var/lib/ovn/ovnsb_db.db",
            "OVN_SCHEMA": "/usr/share/ovn/ovn-sb.ovsschema",
            "OVN_RUN_DIR": "/run/ovn",
            "OVN_STATE_DIR": "/run/c5c3-ovn/southbound",
            "OVN_CLIENT_ENDPOINTS": "ssl:192.0.2.11:16642,ssl:c3:16642,ssl:192.0.2.11:6642,ssl:c3:6642",
            "OVN_WAIT": "1",
            "OVN_POLL": "1",
            "OVN_LOG_FILE": "/var/log/ovn/ovsdb-server-sb.log",
            "OVN_LOG_LEVELS": "file:dbg",
            "OVN_PRIVATE_KEY": "/etc/ovn/tls/central-key.pem",
            "OVN_CERTIFICATE": "/etc/ovn/tls/central-cert.pem",
            "OVN_CA_CERTIFICATE": "/etc/ovn/tls/ca.pem",
            "OVN_TLS_CIPHERS": "ECDHE+AESGCM:ECDHE+CHACHA20",
            "OVN_REVISION": desired["databases"]["southbound"]["revision"],
        }

    def test_directories(self) -> None:
        desired = machine({"config_directory": "/srv/etc", "database_directory": "/srv/db"})
        assert desired["issued_certificates"] == "/srv/etc/issued-certificates.json"
        paths = {
            name: desired["databases"]["northbound"][name] for name in ("record", "environment_file", "database_file")
        }
        assert paths == {
            "record": "/srv/etc/northbound",
            "environment_file": "/srv/etc/northbound.env",
            "database_file": "/srv/db/ovnnb_db.db",
        }
        assert desired["databases"]["northbound"]["environment"]["OVN_DB_FILE"] == paths["database_file"]
        assert desired["databases"]["northbound"]["environment"]["OVN_RECORD_DIR"] == paths["record"]

    def test_directories_of_a_distribution(self) -> None:
        desired = machine(
            {"distribution": {"run_directory": "/run/openvswitch", "schema_directory": "/usr/share/openvswitch"}}
        )
        northbound, northd = desired["databases"]["northbound"], desired["northd"]
        environment, settings = northbound["environment"], northbound["settings"]
        assert environment["OVN_RUN_DIR"] == "/run/openvswitch"
        assert environment["OVN_SCHEMA"] == "/usr/share/openvswitch/ovn-nb.ovsschema"
        assert settings["control_socket"] == "/run/openvswitch/ovnnb_db.ctl"
        assert settings["socket"] == "unix:/run/openvswitch/ovnnb_db.sock"
        assert northd["control_socket"] == "/run/openvswitch/ovn-northd.ctl"
        assert f"--unixctl={northd['control_socket']}" in northd["command"]

    def test_an_empty_directory_is_the_default(self) -> None:
        assert machine({"database_directory": ""}) == machine()

    @pytest.mark.parametrize(
        ("given", "restarts"),
        [
            ({}, False),
            ({"election_timer": 10000, "northd_threads": 4, "southbound_rbac": False}, False),
            ({"log_level": "warn"}, True),
            ({"tls": False}, True),
            ({"certificate": "/other.pem"}, True),
            ({"distribution": {"run_directory": "/run/openvswitch"}}, True),
            ({"distribution": {"schema_directory": "/usr/share/openvswitch"}}, False),
        ],
    )
    def test_what_makes_a_restart_due(self, given: dict[str, t.Any], restarts: bool) -> None:
        for database in ("northbound", "southbound"):
            assert (
                machine(given)["databases"][database]["revision"] != machine()["databases"][database]["revision"]
            ) is restarts

    def test_another_member_makes_no_restart_due(self) -> None:
        smaller = machine(members=["c1", "c2"])["databases"]["northbound"]
        assert smaller["revision"] == machine()["databases"]["northbound"]["revision"]

    def test_another_address_of_the_host_makes_a_restart_due(self) -> None:
        moved = desired_state(machine_options({}), "c2", {**ADDRESSES, "c2": "192.0.2.12"}, {})
        assert moved["databases"]["northbound"]["revision"] != machine()["databases"]["northbound"]["revision"]


class TestNorthd:
    def test_it_knows_all_members(self) -> None:
        command = machine()["northd"]["command"]
        assert "--ovnnb-db=ssl:192.0.2.11:6641,ssl:[2001:db8::12]:6641,ssl:c3:6641 " in command
        assert "--ovnsb-db=ssl:192.0.2.11:16642,ssl:[2001:db8::12]:16642,ssl:c3:16642 " in command
        assert "--log-file=/var/log/ovn/ovn-northd.log" in command
        assert "--n-threads" not in command

    def test_other_settings_have_another_revision(self) -> None:
        northd = machine({"northd_threads": "4"})["northd"]
        assert "--n-threads=4" in northd["command"]
        assert northd["revision"] != machine()["northd"]["revision"]


class TestListeners:
    @pytest.mark.parametrize(
        ("given", "scheme", "role"),
        [
            ({}, "pssl", "ovn-controller"),
            ({"southbound_rbac": "no"}, "pssl", ""),
            ({"tls": False}, "ptcp", ""),
            ({"tls": False, "southbound_rbac": True}, "ptcp", ""),
        ],
        ids=["TLS and RBAC", "no RBAC", "no TLS", "RBAC needs TLS"],
    )
    def test_where_clients_connect(self, given: dict[str, t.Any], scheme: str, role: str) -> None:
        probe = {"inactivity_probe": 30000}
        assert of_databases(machine(given), "listeners") == {
            "northbound": [{"target": f"{scheme}:6641:[::]", **probe}],
            "southbound": [
                {"target": f"{scheme}:6642:[::]", "role": role, **probe},
                {"target": f"{scheme}:16642:[::]", **probe},
            ],
        }

    def test_the_port_with_a_role_is_none_of_the_members(self) -> None:
        southbound = machine()["databases"]["southbound"]
        _chassis, others = southbound["listeners"]
        absent = ("pssl:6642:[::]", "pssl:6642:0.0.0.0", "pssl:16642:0.0.0.0")
        assert southbound["settings"]["connections"] == [
            others,
            *({"target": target, "state": "absent"} for target in absent),
        ]
        assert southbound["settings"]["serve_connections"] is True

    @pytest.mark.parametrize("given", [{"southbound_rbac": False}, {"tls": False}])
    def test_without_a_role_the_members_have_all_ports(self, given: dict[str, t.Any]) -> None:
        desired = machine(given)
        assert desired["relay"] == {}
        southbound = desired["databases"]["southbound"]
        scheme = "ptcp" if given == {"tls": False} else "pssl"
        former = [{"target": f"{scheme}:{port}:0.0.0.0", "state": "absent"} for port in (6642, 16642)]
        assert southbound["settings"]["connections"] == [*southbound["listeners"], *former]

    def test_the_rows_of_a_former_address_go(self) -> None:
        desired = machine({"listen_address": "0.0.0.0"})
        row, former = desired["databases"]["northbound"]["settings"]["connections"]
        assert row["target"] == "pssl:6641:0.0.0.0"
        assert former == {"target": "pssl:6641:[::]", "state": "absent"}
        assert desired["relay"]["former_rows"] == ["pssl:6642:0.0.0.0", "pssl:6642:[::]"]

    def test_a_row_that_is_declared_stays(self) -> None:
        extra = {"target": "pssl:6641:0.0.0.0"}
        desired = machine({"extra_connections": {"northbound": [extra, {"target": "ptcp:7000:192.0.2.1"}]}})
        rows = desired["databases"]["northbound"]["settings"]["connections"]
        assert [(row["target"], row.get("state")) for row in rows] == [
            ("pssl:6641:[::]", None),
            ("pssl:6641:0.0.0.0", None),
            ("ptcp:7000:192.0.2.1", None),
        ]

    def test_further_ones_come_last(self) -> None:
        extra = {"target": "pssl:16650:[::]", "read_only": True}
        desired = machine({"extra_connections": {"southbound": [extra], "northbound": None}})
        assert desired["databases"]["southbound"]["listeners"][2:] == [extra]
        targets = [row["target"] for row in desired["databases"]["southbound"]["settings"]["connections"]]
        assert targets == [
            "pssl:16642:[::]",
            extra["target"],
            "pssl:6642:[::]",
            "pssl:6642:0.0.0.0",
            "pssl:16642:0.0.0.0",
        ]


class TestRelay:
    def test_it_copies_from_the_ports_without_a_role(self) -> None:
        relay = machine({"log_level": "dbg"})["relay"]
        assert relay["command"] == (
            "ovsdb-server --no-chdir -vconsole:off -vsyslog:warn -vfile:dbg --log-file=/var/log/ovn/ovsdb-server-sb-relay.log "
            "--pidfile=/run/ovn/ovnsb_relay_db.pid --unixctl=/run/ovn/ovnsb_relay_db.ctl --remote=punix:/run/ovn/ovnsb_relay_db.sock "
            "--remote=db:Local_Config,Config,connections -p /etc/ovn/tls/central-key.pem -c /etc/ovn/tls/central-cert.pem "
            "-C /etc/ovn/tls/relay-ca.pem --ssl-ciphers=ECDHE+AESGCM:ECDHE+CHACHA20 /run/c5c3-ovn/southbound-relay/listeners.db "
            "relay:OVN_Southbound:ssl:192.0.2.11:16642,ssl:[2001:db8::12]:16642,ssl:c3:16642"
        )

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ({"relay_ca_certificate": ""}, "/etc/ovn/tls/relay-ca.pem"),
            ({"ca_certificate": "/etc/ovn/cacert.pem"}, "/etc/ovn/cacert.pem"),
            ({"ca_certificate": "/etc/ovn/cacert.pem", "relay_ca_certificate": "/r.pem"}, "/r.pem"),
        ],
    )
    def test_whom_it_trusts(self, given: dict[str, t.Any], expected: str) -> None:
        """Files of somebody else have no bundle of the role ovn_pki beside them."""
        relay = machine(given)["relay"]
        assert relay["ca_certificate"] == expected
        assert f" -C {expected} " in relay["command"]

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ({}, "/etc/ovn/tls/relay-ca.pem"),
            ({"relay_ca_certificate": "/r.pem"}, "/r.pem"),
            ({"southbound_rbac": False}, None),
        ],
    )
    def test_the_observer_knows_whom_it_lets_in(self, given: dict[str, t.Any], expected: str | None) -> None:
        assert machine(given)["observer"]["environment"].get("OVN_CLIENT_CA_CERTIFICATE") == expected

    def test_its_clients_have_the_role_of_chassis(self) -> None:
        _name, row, _link = json.loads(machine({"inactivity_probe": 60000})["relay"]["listeners"])
        assert row["row"] == {"target": "pssl:6642:[::]", "role": "ovn-controller", "inactivity_probe": 60000}

    @pytest.mark.parametrize(
        "given",
        [
            {"inactivity_probe": 60000},
            {"relay_ca_certificate": "/other.pem"},
            {"listen_address": "0.0.0.0"},
        ],
    )
    def test_other_settings_have_another_revision(self, given: dict[str, t.Any]) -> None:
        assert machine(given)["relay"]["revision"] != machine()["relay"]["revision"]


class TestTimers:
    SIZES: t.ClassVar = {"northbound": Size(60_000_000, 10_000), "southbound": Size(400_000_000)}

    @pytest.mark.parametrize(
        ("given", "election", "probes", "wait"),
        [
            ({}, (10000, 60000), (30000, 60000), 190),
            ({"timers_by_size": "false"}, (5000, 5000), (30000, 30000), 120),
            ({"election_timer": "100000"}, (100000, 100000), (30000, 30000), 310),
            ({"inactivity_probe": 0}, (10000, 60000), (0, 0), 190),
            ({"wait_timeout": 900}, (10000, 60000), (30000, 60000), 900),
        ],
        ids=["by size", "as declared", "declared longer", "no probes", "declared time"],
    )
    def test_of_large_files(
        self, given: dict[str, t.Any], election: tuple[int, int], probes: tuple[int, int], wait: int
    ) -> None:
        desired = machine(given, sizes=self.SIZES)
        timers = of_databases(desired, "timers").values()
        assert tuple(timer["election_timer"] for timer in timers) == election
        assert tuple(timer["inactivity_probe"] for timer in timers) == probes
        assert desired["databases"]["southbound"]["listeners"][0]["inactivity_probe"] == probes[1]
        assert desired["databases"]["northbound"]["settings"]["options"] == {"northd_probe_interval": str(max(probes))}
        assert (desired["wait_timeout"], desired["lock_seconds"]) == (wait, wait + 60)

    def test_before_the_first_plan(self) -> None:
        desired = machine()
        assert desired["databases"]["northbound"]["timers"] == {
            "election_timer": 5000,
            "inactivity_probe": 30000,
            "reason": "",
        }
        assert (desired["wait_timeout"], desired["lock_seconds"]) == (120, 180)

    def test_options_of_the_databases(self) -> None:
        given = {"northbound": {"northd_probe_interval": 7, "x": None}, "southbound": {"a": True}}
        assert of_settings(machine({"database_options": given}), "options") == given
        given = {"southbound": {"a": None}, "northbound": ""}
        assert of_settings(machine({"database_options": given}), "options") == {
            "northbound": {"northd_probe_interval": "30000"},
            "southbound": {"a": None},
        }


DATABASE = {"electionTimer": 5000, "inactivityProbe": 30000}
SPEC = {
    "northbound": DATABASE,
    "southbound": DATABASE,
    "relay": {"rbac": True},
    "northd": {"threads": 1},
    "tls": {"enabled": True},
}


@pytest.mark.parametrize(
    ("given", "differs"),
    [
        ({}, {}),
        ({"image": {}, "spec": {}, "tls_secret": ""}, {}),
        ({"tls_secret": "ovn-tls"}, {"tls": {"enabled": True, "certSecretRef": {"name": "ovn-tls"}}}),
        ({"tls": "false", "tls_secret": "ovn-tls"}, {"tls": {"enabled": False}}),
        ({"northd_threads": "4"}, {"northd": {"threads": 4}}),
        (
            {"election_timer": 10000, "inactivity_probe": 0},
            {name: {"electionTimer": 10000, "inactivityProbe": 0} for name in ("northbound", "southbound")},
        ),
        (
            {"image": {"tag": "1"}, "openvswitch_image": {"repository": "r"}},
            {"ovnImage": {"tag": "1"}, "ovsImage": {"repository": "r"}},
        ),
        (
            {
                "election_timer": 1000,
                "spec": {"northbound": {"electionTimer": 2000, "replicas": 5}, "bridgeMappings": [1]},
            },
            {
                "northbound": {**DATABASE, "electionTimer": 2000, "replicas": 5},
                "southbound": {**DATABASE, "electionTimer": 1000},
                "bridgeMappings": [1],
            },
        ),
        ({"spec": {"tls": {"enabled": False}, "northd": None}}, {"tls": {"enabled": False}, "northd": None}),
    ],
    ids=[
        *("defaults", "empty is absent", "Secret", "no TLS", "text", "timers"),
        *("images", "the specification counts more", "also when it says null"),
    ],
)
def test_specification(given: dict[str, t.Any], differs: dict[str, t.Any]) -> None:
    expected = {**SPEC, **differs}
    if given.get("tls") == "false":
        del expected["relay"]
    assert cluster_spec(cluster(given)) == expected


def test_chassis_without_names_of_their_own_get_no_role() -> None:
    assert "relay" not in cluster_spec(cluster({}), shared_certificates=True)
    assert "relay" not in cluster_spec(cluster({"southbound_rbac": "no"}))


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ({"spec": {"relay": {"rbac": True}}}, True),
        ({"spec": {"relay": {"rbac": True}}, "tls": False}, False),
        ({"spec": {"relay": {"rbac": False}}}, False),
        ({}, False),
    ],
)
def test_a_role_that_nodes_could_not_have(given: dict[str, t.Any], refused: bool) -> None:
    problem = cluster_problem(cluster(given), ["k1"], "k1", shared_certificates=True)
    assert ("leave relay.rbac out" in problem) is refused
    assert cluster_problem(cluster(given), ["k1"], "k1") == ""


def test_no_replicas_are_refused_by_the_definition_not_left_out() -> None:
    assert cluster_spec(cluster({"spec": {"northbound": {"replicas": 0}}}))["northbound"]["replicas"] == 0


@pytest.mark.parametrize(
    ("members", "for_machines", "problem"),
    [
        (["k1"], {}, ""),
        (["k1", "k2"], {}, "exactly one host, the cluster of the control plane. It has k1, k2."),
        (
            ["k1"],
            {"ovn_central_log_level": "dbg", "ovn_central_observer": False},
            "ovn_central_log_level, ovn_central_observer: for machines only; on k1 (ovn_backend kubernetes) they have no effect.",
        ),
        (["k1"], {"ovn_central_networks": {}, "ovn_central_distribution": {}}, ""),
    ],
)
def test_what_kubernetes_cannot_do_is_said(members: list[str], for_machines: dict[str, t.Any], problem: str) -> None:
    said = cluster_problem(cluster({}), members, "k1", for_machines=for_machines)
    assert problem in said
    assert bool(said) is bool(problem)


@pytest.mark.parametrize(
    ("variables", "found"),
    [
        ({}, []),
        ({"ovn_cluster_spec": {"northd": {}}, "ovn_firewall": ""}, []),
        ({"ovn_cluster_spec": {"northd": {}}, "ovn_firewall": "none"}, []),
        ({"ovn_central_log_level": "dbg"}, ["ovn_central_log_level"]),
        ({"ovn_firewall": "managed"}, ["ovn_firewall"]),
        ({"ovn_central_permit": "outage,firewall_disconnect"}, ["ovn_central_permit=firewall_disconnect"]),
        ({"ovn_central_permit": ["outage"]}, []),
        ({"ovn_central_permit": ["names"]}, ["ovn_central_permit=names"]),
    ],
)
def test_options_for_machines_of_a_host(variables: dict[str, t.Any], found: list[str]) -> None:
    assert list(options_for_machines(variables)) == found


def test_each_option_has_an_effect_in_kubernetes_or_is_refused_there() -> None:
    role = SPECS.parents[1]
    specs = yaml.safe_load(SPECS.read_text())["argument_specs"]
    options = {name.removeprefix("ovn_central_") for name in specs["main"]["options"]}
    refused = {*ONLY_MACHINES}
    tasks = "".join(path.read_text() for path in (role / "tasks").glob("kubernetes*.yml"))
    used = set(re.findall(r"\bovn_central_(\w+)", tasks)) | {
        field.name for kind in (CentralClusterOptions, CentralRolloutOptions) for field in dataclasses.fields(kind)
    }
    assert refused <= options
    assert not refused & used
    assert options - used - refused == set()


def test_hosts_are_shared_out_once() -> None:
    sharing, hosts = ["c1", "c2", "c3"], ["c1", "c2", "c3", "h1", "h2", "c2"]
    shares = [host_share(hosts, sharing, host) for host in sharing]
    assert shares == [["c1", "h1"], ["c2", "h2"], ["c3"]]


class TestSandbox:
    def test_a_database_writes_its_file_its_log_and_the_witness_beside_the_record(self) -> None:
        found = of_databases(machine({"database_directory": "/srv/ovn"}), "sandbox")
        assert found["northbound"] == found["southbound"]
        writable = [line for line in found["northbound"] if line.startswith("ReadWritePaths=")]
        assert writable == ["ReadWritePaths=-/etc/c5c3-ovn", "ReadWritePaths=-/srv/ovn", "ReadWritePaths=-/var/log/ovn"]

    @pytest.mark.parametrize("part", ["northd", "relay"])
    def test_northd_and_the_relay_write_logs_alone(self, part: str) -> None:
        writable = [line for line in machine()[part]["sandbox"] if line.startswith("ReadWritePaths=")]
        assert writable == ["ReadWritePaths=-/var/log/ovn"]

    def test_keys_in_a_home_stay_readable(self) -> None:
        desired = machine({"private_key": "/root/key.pem"})
        for sandbox in (of_databases(desired, "sandbox")["northbound"], desired["northd"]["sandbox"]):
            assert "ProtectHome=read-only" in sandbox
        assert "ProtectHome=yes" in machine()["northd"]["sandbox"]

    def test_another_sandbox_is_another_revision(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """So that the rounds restart the members, one after the other."""

        def revisions() -> list[str]:
            desired = machine()
            return [
                *of_databases(desired, "revision").values(),
                desired["northd"]["revision"],
                desired["relay"]["revision"],
            ]

        before = revisions()
        monkeypatch.setattr(central, "sandbox_settings", lambda _sandbox: ["NoNewPrivileges=no"])
        assert [new for new, old in zip(revisions(), before) if new == old] == []


class TestCiphers:
    def test_all_servers_have_the_same_and_are_restarted_for_others(self) -> None:
        desired = machine({"tls_ciphers": "ECDHE+AESGCM"})
        assert "--ssl-ciphers=ECDHE+AESGCM" in desired["relay"]["command"].split()
        for environment in of_databases(desired, "environment").values():
            assert environment["OVN_TLS_CIPHERS"] == "ECDHE+AESGCM"
        before = machine()
        assert desired["relay"]["revision"] != before["relay"]["revision"]
        assert desired["northd"] == before["northd"]
        assert of_databases(desired, "revision")["northbound"] != of_databases(before, "revision")["northbound"]

    def test_without_tls_there_are_none(self) -> None:
        desired = machine({"tls": False})
        assert "OVN_TLS_CIPHERS" not in of_databases(desired, "environment")["northbound"]

    @pytest.mark.parametrize("ciphers", ["HIGH --remote=ptcp:1", "$(x)", "%h", "HIGH;x", "NONE-SUCH"])
    def test_what_is_no_list_of_ciphers(self, ciphers: str) -> None:
        with pytest.raises(InvalidInput, match=r"ovn_tls_ciphers is .* Nothing was changed"):
            machine({"tls_ciphers": ciphers})

    def test_a_cluster_has_the_default_of_its_ovncluster(self) -> None:
        assert "ciphers" not in cluster_spec(cluster({}))["tls"]
        assert cluster_spec(cluster({"tls_ciphers": "ECDHE+AESGCM"}))["tls"]["ciphers"] == "ECDHE+AESGCM"


class TestDesiredCluster:
    HOSTVARS: t.ClassVar[dict[str, dict[str, t.Any]]] = {
        "k1": {"ovn_backend": "kubernetes"},
        "k2": {"ovn_backend": "kubernetes"},
        "h1": {},
        "h2": {"ovn_system_id": "chassis2", "ovn_hypervisor_certificate": "/c.pem"},
        "h3": {"ovn_hypervisor_state": "absent"},
    }

    def desired(
        self,
        given: dict[str, t.Any] | None = None,
        variables: dict[str, t.Any] | None = None,
        hypervisors: t.Sequence[str] = ("k2",),
        central: t.Sequence[str] = ("k1",),
        **hosts: dict[str, t.Any],
    ) -> DesiredCentralCluster:
        hostvars = {name: {**known, **hosts.get(name, {})} for name, known in self.HOSTVARS.items()}
        hostvars["k1"] |= variables or {}
        groups = {"ovn_central": list(central), "ovn_hypervisors": list(hypervisors)}
        return desired_cluster(cluster(given or {}), "k1", hostvars["k1"], hostvars, groups)

    def test_specification_and_level_of_the_namespace(self) -> None:
        desired = self.desired({"spec": {"northbound": {"replicas": 1}}})
        assert desired.spec["northbound"]["replicas"] == 1
        assert desired.spec["tls"]["certSecretRef"] == {"name": "ovn-tls"}
        assert desired.source == {"spec_from": "options", "spec": desired.spec}
        assert desired.pod_security == "privileged"
        assert self.desired(hypervisors=()).pod_security == "restricted"

    @pytest.mark.parametrize(
        ("central", "variables", "message"),
        [
            (["k1", "k2"], {}, "exactly one host"),
            (["k1"], {"ovn_central_log_level": "dbg"}, "ovn_central_log_level: for machines only"),
        ],
    )
    def test_options_that_do_not_fit_are_a_problem_of_one_that_is_desired(
        self, central: list[str], variables: dict[str, t.Any], message: str
    ) -> None:
        desired = self.desired(variables=variables, central=central)
        assert message in desired.problem
        assert desired.problem.endswith(" Nothing was changed.")
        assert desired.source["spec"]
        assert self.desired().problem == ""

    def test_resource_that_was_not_read_is_refused(self) -> None:
        with pytest.raises(InvalidInput, match=r"the OVNCluster was not read in this run.* Nothing was changed\.$"):
            self.desired({}, {"ovn_cluster_from": "resource"})

    @pytest.mark.parametrize(
        ("variables", "given", "key"),
        [
            pytest.param({}, {}, "client-ca.crt", id="ovn_pki makes the Secret"),
            pytest.param({"ovn_tls_secret": "a"}, {"tls_secret": "a"}, "client-ca.crt", id="with a name"),
            pytest.param({"ovn_pki_kubernetes_secret_given": True}, {}, None, id="another owner makes it"),
            pytest.param({"ovn_cluster_spec": {"tls": {"certSecretRef": {"name": "a"}}}}, {}, None, id="a named one"),
            pytest.param(
                {},
                {"spec": {"tls": {"southboundClientCaConfigMapRef": {"name": "a"}}}},
                None,
                id="a ConfigMap in its place",
            ),
            pytest.param({"ovn_tls": False}, {"tls": False}, None, id="no TLS"),
            pytest.param(
                {"ovn_pki_kubernetes_secret_given": True},
                {"spec": {"tls": {"southboundClientCaKey": "all.crt"}}},
                "all.crt",
                id="another owner makes one with such a key",
            ),
        ],
    )
    def test_only_a_secret_of_ours_has_a_bundle_of_clients(
        self, variables: dict[str, t.Any], given: dict[str, t.Any], key: str | None
    ) -> None:
        assert self.desired(given, variables).spec["tls"].get("southboundClientCaKey") == key

    def test_certificates_to_look_at_before_chassis_get_a_role(self) -> None:
        machines = ("h1", "h2", "h3")
        found = self.desired(hypervisors=machines).chassis_certificates
        assert [(one["host"], one["system_id"], one["certificate"]) for one in found] == [
            ("h1", "h1", "/etc/ovn/tls/chassis-cert.pem"),
            ("h2", "chassis2", "/c.pem"),
        ]
        shared = self.desired(hypervisors=(*machines, "k2"), k2={"ovn_node_certificates": "shared"})
        assert shared.chassis_certificates == []
        assert self.desired({"southbound_rbac": False}, hypervisors=machines).chassis_certificates == []

    def test_the_resource_of_another_client_is_taken_as_it_is(self) -> None:
        read = {"spec": {"northbound": {"replicas": 5}}, "uid": "u", "generation": 7}
        variables = {"ovn_cluster_from": "resource", "ovn_verify_cluster_resource": read}
        desired = self.desired({"replicas": 3}, variables)
        assert desired.spec == read["spec"]
        arguments = rollout_arguments(ROLLOUT, desired, variables)
        given = {name: arguments.get(name) for name in ("spec", "spec_from", "resource_uid", "resource_generation")}
        assert given == {"spec": None, "spec_from": "resource", "resource_uid": "u", "resource_generation": 7}


ROLLOUT = CentralRolloutOptions(
    kubeconfig=None,
    context="",
    namespace="ovn-system",
    cluster_name="ovn",
    cluster_domain="cluster.local",
    bootstrap=False,
    cluster_ids={"southbound": "id"},
    restart=True,
    permit=["rollback"],
    break_lock=False,
    force_conflicts=False,
    lock_wait_timeout=900,
    wait_timeout=600,
)


def test_arguments_of_a_rollout() -> None:
    desired = DesiredCentralCluster("", {}, {"spec_from": "options", "spec": {}}, "restricted", [])
    arguments = rollout_arguments(ROLLOUT, desired, {"ovn_verify_cluster_resource": {"uid": "of a former run"}})
    expected = {
        "kubeconfig": None,
        "name": "ovn",
        "bootstrap": "forbid",
        "northbound_cluster_id": None,
        "southbound_cluster_id": "id",
        "resource_uid": None,
        "wait_timeout": 600,
    }
    assert {name: arguments[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("found", "refused"),
    [
        ({"installed_common_name": "other"}, True),
        ({}, False),
        ({"installed_common_name": ""}, False),
        ({"unreachable": True}, False),
    ],
)
def test_names_in_certificates_of_chassis(found: dict[str, t.Any], refused: bool) -> None:
    named = (
        {"installed_common_name": host, **found, "item": {"host": host, "system_id": host}} for host in ("h1", "h2")
    )
    problem = certificate_name_problem(named)
    for host in ("h1", "h2"):
        assert (f"The certificate of {host} has the name other" in problem) is refused
    assert bool(problem) is refused
