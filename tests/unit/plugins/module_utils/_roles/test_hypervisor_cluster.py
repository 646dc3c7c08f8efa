"""What the nodes of a cluster have in common, which options it cannot have, and whether a run can sign for nodes."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
import yaml

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.hypervisor_check import (
    HypervisorOptions,
    SingleRunOptions,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.hypervisor_cluster import (
    DesiredNodes,
    HypervisorClusterOptions,
    NodeSignerOptions,
    desired_hypervisors,
    hypervisors_problem,
    signer_problem,
    variables_for_machines,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.option_types import (
    check_options,
    misplaced_options,
    option_name,
    option_names,
    options_from,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.shared_variables import SPECIFICATION

if t.TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Options = t.TypeVar("Options", bound=DataclassInstance)

PREFIX = "ovn_hypervisor_"
SPECS = pathlib.Path(__file__).parents[5] / "roles" / "ovn_hypervisor" / "meta" / "argument_specs.yml"
ROLE = yaml.safe_load(SPECS.read_text())["argument_specs"]["main"]["options"]
MODE = "The key of the CA is not used: mode"
UNDERLAY = {"bridge": "br-u", "interface": "eth1", "address": "192.0.2.5/24"}
Values = dict[str, t.Any]


def options_of(kind: type[Options], **fields: t.Any) -> Options:
    variables = {option_name(PREFIX, name): value for name, value in fields.items()}
    return options_from(kind, check_options("rack1", {**SPECIFICATION, **ROLE}, variables), PREFIX)


def desired(**fields: t.Any) -> DesiredNodes:
    return desired_hypervisors(options_of(HypervisorClusterOptions, **fields), {})


@pytest.mark.parametrize(
    ("options", "spec"),
    [
        pytest.param({}, {"tls": {"enabled": True}}, id="nothing but TLS"),
        pytest.param(
            {"openvswitch": "existing"}, {"tls": {"enabled": True}, "ovs": {"mode": "host"}}, id="that of the nodes"
        ),
        pytest.param({"tls": "false"}, {"tls": {"enabled": False}}, id="a boolean of the command line"),
        pytest.param(
            {"image": {}, "openvswitch_image": None, "datapath_type": "", "bridge_mappings": None, "spec": ""},
            {"tls": {"enabled": True}},
            id="empty is absent",
        ),
        pytest.param(
            {"image": {"tag": "1"}, "openvswitch_image": {"tag": "2"}, "datapath_type": "netdev"},
            {
                "tls": {"enabled": True},
                "ovnImage": {"tag": "1"},
                "ovsImage": {"tag": "2"},
                "ovs": {"datapathType": "netdev"},
            },
            id="images and datapath",
        ),
        pytest.param(
            {"bridge_mappings": [{"physical_network": "p", "bridge": "b", "ports": ["eth1"]}]},
            {
                "tls": {"enabled": True},
                "bridgeMappings": [{"physicalNetwork": "p", "bridge": "b", "ports": ["eth1"]}],
            },
            id="mappings as the API names them",
        ),
        pytest.param(
            {"bridge_mappings": []}, {"tls": {"enabled": True}, "bridgeMappings": []}, id="an empty list of mappings"
        ),
        pytest.param(
            {"datapath_type": "netdev", "image": {"tag": "1"}, "spec": {"tls": {"enabled": False}, "ovs": {"a": 1}}},
            {"tls": {"enabled": False}, "ovnImage": {"tag": "1"}, "ovs": {"datapathType": "netdev", "a": 1}},
            id="the specification counts more, and is merged",
        ),
    ],
)
def test_the_specification_of_a_cluster(options: Values, spec: Values) -> None:
    found = desired(**{"node_certificates": "shared", **options})
    assert found == DesiredNodes(spec, "ovn-tls", signs=False)


@pytest.mark.parametrize(
    ("options", "signs"),
    [
        ({}, True),
        ({"node_certificates": ""}, True),
        ({"node_certificates": "shared"}, False),
        ({"node_certificates": "own", "tls": "no"}, False),
        ({"spec": {"tls": {"nodeCertificates": "own"}}}, True),
        ({"node_certificates": "own", "spec": {"tls": {"nodeCertificates": "shared"}}}, False),
        ({"node_certificates": "own", "spec": {"tls": {"enabled": False}}}, False),
        ({"node_certificates": "own", "tls": False, "spec": {"tls": {"enabled": True}}}, True),
    ],
    ids=[
        "by default",
        "empty is absent",
        "by the option",
        "without TLS",
        "by the specification",
        "which counts more",
        "no TLS by the specification",
        "TLS by the specification",
    ],
)
def test_who_signs_for_nodes(options: Values, signs: bool) -> None:
    assert desired(**options).signs is signs


def test_the_specification_may_name_the_secret() -> None:
    spec = {"tls": {"certSecretRef": {"name": "theirs"}}}
    assert desired(spec=spec).tls_secret == "theirs"
    assert desired(tls_secret="ours", cluster_name="blue").tls_secret == "ours"
    assert desired(cluster_name="blue").tls_secret == "blue-tls"


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"encapsulation_type": "geneve", "system_id": "", "gateway": "", "hostname": "", "purge": "no"}, []),
        ({"bridges": [{"name": "br-x"}], "underlay": UNDERLAY}, ["ovn_hypervisor_bridges", "ovn_hypervisor_underlay"]),
        ({"encapsulation_type": ["vxlan"]}, ["ovn_hypervisor_encapsulation_type"]),
        ({"gateway": "true"}, ["ovn_hypervisor_gateway"]),
        (
            {"permit": ["takeover"], "purge": True},
            ["ovn_hypervisor_purge"],
        ),  # the first one is for the hosts of one run
        (
            {"chassis_settings": {"monitor_all": False}, "cms_options": ["a"], "certificate": "/own.pem"},
            ["ovn_hypervisor_certificate", "ovn_hypervisor_chassis_settings", "ovn_hypervisor_cms_options"],
        ),
        ({"datapath_type": "netdev", "wait_timeout": 30, "openvswitch": "existing", "force_conflicts": True}, []),
    ],
)
def test_options_of_machines_that_a_cluster_has(options: Values, names: list[str]) -> None:
    given = options_of(HypervisorOptions, **options)
    assert misplaced_options(given, [HypervisorClusterOptions, SingleRunOptions], ROLE, PREFIX) == names


def test_every_option_is_of_machines_or_clusters() -> None:
    """One that neither reads has no effect."""
    read = {*option_names(HypervisorOptions, PREFIX), *option_names(HypervisorClusterOptions, PREFIX)}
    assert ROLE.keys() - read == set()


@pytest.mark.parametrize(
    ("variables", "groups", "names"),
    [
        ({"ovn_system_id": "rack1", "ovn_encapsulation_ip": "", "ansible_host": "192.0.2.9"}, {}, []),
        ({"ovn_system_id": "x"}, {}, ["ovn_system_id"]),
        ({}, {"ovn_gateways": ["rack1"]}, ["group ovn_gateways"]),
        ({"ovn_encapsulation_ip": "192.0.2.1"}, {"ovn_gateways": ["h1"]}, ["ovn_encapsulation_ip"]),
    ],
)
def test_variables_of_machines_that_a_cluster_has(
    variables: Values, groups: dict[str, list[str]], names: list[str]
) -> None:
    assert variables_for_machines("rack1", variables, groups) == names


def test_what_forbids_a_run() -> None:
    assert "gone is for machines only" in hypervisors_problem("rack1", "gone", [])
    assert hypervisors_problem("rack1", "absent", ["ovn_system_id"]) == ""
    assert hypervisors_problem("rack1", "present", []) == ""
    assert hypervisors_problem("rack1", "present", ["ovn_system_id"]).startswith("ovn_system_id: for machines only; on")


@pytest.mark.parametrize(
    ("certificate", "key", "given", "mode", "needed", "words"),
    [
        pytest.param("c", "k", False, "", True, "", id="files"),
        pytest.param("c", "k", True, MODE, True, "", id="variables: the mode of a file that is not used"),
        pytest.param("c", "k", False, MODE, True, MODE, id="a file that others can read"),
        pytest.param("c", "k", False, MODE, False, MODE, id="the same at a removal, which signs, too"),
        pytest.param("", "", False, "", True, "/srv/chassis-ca.pem, so nobody", id="no CA"),
        pytest.param(
            "c",
            "",
            False,
            "",
            True,
            "lost for good, run c5c3.ovn.rotate with ovn_pki_rotate=chassis",
            id="a key that is kept elsewhere",
        ),
        pytest.param("c", "", True, "", True, "lost for good, give another CA in three runs", id="no variable"),
        pytest.param("", "", False, "", False, "", id="a removal or check mode without a CA"),
        pytest.param("c", "", True, "", False, "", id="a removal or check mode without a key"),
    ],
)
def test_who_can_sign(certificate: str, key: str, given: bool, mode: str, needed: bool, words: str) -> None:
    signer = {"certificate": certificate, "private_key": key}
    found = signer_problem(signer, given=given, directory="/srv", key_problem=mode, needed=needed)
    assert words in found
    assert bool(found) is bool(words)


def test_directory_of_the_ca_is_beside_the_inventory() -> None:
    rest: dict[str, t.Any] = {"validity_days": 1, "ca": {}, "chassis_ca": {"certificate": " "}}
    options = NodeSignerOptions(ca_directory=None, **rest)
    assert options.directory({"inventory_dir": "/inventory", "playbook_dir": "/books"}) == "/inventory/ovn-pki.cfg"
    assert options.directory({"playbook_dir": "/books"}) == "/books/ovn-pki.cfg"
    assert NodeSignerOptions(ca_directory="/own", **rest).directory({}) == "/own"
    assert not options.given
