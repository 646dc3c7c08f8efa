"""Specifications of an OVNCluster that are refused."""

from __future__ import annotations

import typing as t


def northbound(**fields: t.Any) -> dict[str, t.Any]:
    return {"northbound": fields}


OUTSIDE = {"service": {"type": "NodePort", "externalTrafficPolicy": "Local"}}


def neutron_outside(**connection: t.Any) -> dict[str, t.Any]:
    return {"neutronIntegration": {"sbConnection": {"allowedCidrs": ["192.0.2.0/24"], **connection}}}


def node_ports(*ports: int, **fields: t.Any) -> dict[str, t.Any]:
    return {"service": {"type": "NodePort", "nodePorts": list(ports)}, **fields}


def neutron(name: str) -> dict[str, t.Any]:
    return {"neutronIntegration": {"nbConnection": {"service": {"name": name}}}}


def local_ports(*ports: int) -> dict[str, t.Any]:
    return {"service": {**OUTSIDE["service"], "nodePorts": list(ports)}}


def metadata_agent(**fields: t.Any) -> dict[str, t.Any]:
    complete = {
        "enabled": True,
        "image": {"repository": "r/neutron", "tag": "1"},
        "novaMetadata": {"host": "nova"},
        "sharedSecretRef": {"name": "nova"},
        "extraConfig": {"DEFAULT": {"metadata_backlog": 4096}},
        **fields,
    }
    return {"metadataAgent": {field: value for field, value in complete.items() if value is not None}}


# What it is, the specification, and our message. tests/integration/test_crds.py has those of the API server.
REFUSED: list[tuple[str, dict[str, t.Any], str]] = [
    (
        "an even number of members",
        northbound(replicas=2),
        r"^spec\.northbound\.replicas is 2: a Raft cluster.*Set it to",
    ),
    ("too many members", northbound(replicas=7), r"^spec\.northbound\.replicas is 7\. Use 1 to 5: Members"),
    (
        "a number as text",
        northbound(replicas="3"),
        r'^spec\.northbound\.replicas is "3", but it has to be a whole number',
    ),
    ("a number as truth", northbound(replicas=True), r"^spec\.northbound\.replicas is True, but it has to be a whole"),
    (
        "a fraction",
        northbound(electionTimer=2.5),
        r"^spec\.northbound\.electionTimer is 2\.5, but it has to be a whole",
    ),
    ("an unknown field", northbound(replica=3), r"^spec\.northbound\.replica is no field.*Did you mean replicas\?"),
    ("names of Python", {"bridge_mappings": []}, r"^spec\.bridge_mappings is no field.*Did you mean bridgeMappings\?"),
    (
        "far from everything",
        {"qqqq": 1},
        r"^spec\.qqqq is no field.*Known are agentImage, bridgeMappings, controller, ",
    ),
    ("a list for a mapping", {"northbound": []}, r"^spec\.northbound is \[\], but it has to be a mapping"),
    ("a mapping for a list", {"bridgeMappings": {}}, r"^spec\.bridgeMappings is \{\}, but it has to be a list"),
    ("no TLS at all", {"tls": {"enabled": "no"}}, r'^spec\.tls\.enabled is "no", but it has to be true or false'),
    ("a size without unit", northbound(storage={"size": 10}), r"^spec\.northbound\.storage\.size is 10,.*quotes"),
    ("a size with a wrong unit", northbound(storage={"size": "10GB"}), r'^spec\.northbound\.storage\.size is "10GB"'),
    ("an empty class", northbound(storage={"storageClass": ""}), r"^spec\.northbound\.storage\.storageClass is empty"),
    (
        "a timer below OVSDB's limit",
        northbound(electionTimer=99),
        r"^spec\.northbound\.electionTimer is 99\. Use 100 to",
    ),
    (
        "an unknown type of Service",
        northbound(service={"type": "Node"}),
        r'type is "Node"\. Use one of "ClusterIP", "Nod',
    ),
    (
        "names without exposing",
        northbound(service={"hostnames": ["a", "b", "c"]}),
        r"hostnames is set: .*inside of the cluster.*Set spec\.northbound\.service\.type, or remove",
    ),
    (
        "too few names",
        northbound(service={"type": "NodePort", "hostnames": ["a", "b"]}),
        r"hostnames has 2 names, spec\.northbound\.replicas is 3.*Name each",
    ),
    (
        "one name behind load balancers",
        northbound(service={"type": "LoadBalancer", "hostnames": ["a", "b", "a"]}),
        r'hostnames has "a" 2 times: .*each needs a name of its own\. Choose',
    ),
    (
        "one name where only the node of a member answers",
        northbound(service={"type": "NodePort", "externalTrafficPolicy": "Local", "hostnames": ["a", "b", "a"]}),
        r'hostnames has "a" 2 times: .*only the node of a member.*Choose',
    ),
    *(
        (f"a name that is none: {name}", northbound(service={"type": "NodePort", "hostnames": ["a", name, "b"]}), match)
        for name, match in (
            ("192.0.2.1", r"hostnames\[1\].*does not have the form"),
            ("2001:db8::1", r"hostnames\[1\].*does not have the form"),
            ("NB.example.com", r"hostnames\[1\].*does not have the form"),
            ("a_b.example.com", r"hostnames\[1\].*does not have the form"),
            ("nb.example.com.", r"hostnames\[1\].*does not have the form"),
            ("nb.example.com:6641", r"hostnames\[1\].*does not have the form"),
            ("*.example.com", r"hostnames\[1\].*does not have the form"),
            ("", r"hostnames\[1\].*does not have the form"),
            (f"{'a' * 64}.example.com", r"hostnames\[1\].*does not have the form"),
            (".".join(["a" * 60] * 5), r"hostnames\[1\].*Use at most 253"),
        )
    ),
    (
        "ports without exposing",
        northbound(service={"nodePorts": [30001]}),
        r"nodePorts is set.*Set spec\.northbound\.serv",
    ),
    (
        "too few ports",
        northbound(**node_ports(30001)),
        r"nodePorts has 1 ports, spec\.northbound\.replicas is 3.*Name one",
    ),
    (
        "a port twice",
        northbound(**node_ports(30001, 30001, 30002)),
        r"node port 30001 is named 2 times.*Choose another",
    ),
    (
        "a port in both databases",
        {"northbound": node_ports(30001, replicas=1), "southbound": node_ports(30001, replicas=1)},
        r"node port 30001 is named 2 times",
    ),
    (
        "a load balancer with networks for Neutron alone",
        {"southbound": {"service": {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}}, **neutron_outside()},
        r"sbConnection\.allowedCidrs is set: a load balancer .*Set spec\.southbound\.service\.allowedCidrs as well",
    ),
    (
        "ports for Neutron without exposing",
        neutron_outside(nodePorts=[31001, 31002, 31003]),
        r"sbConnection\.nodePorts is set: .*Set spec\.southbound\.service\.type and spec\.neutron",
    ),
    (
        "ports for Neutron without its networks",
        {"southbound": OUTSIDE, **neutron_outside(allowedCidrs=[], nodePorts=[31001, 31002, 31003])},
        r"sbConnection\.nodePorts is set: .*, or remove the ports",
    ),
    (
        "too few ports for Neutron",
        {"southbound": OUTSIDE, **neutron_outside(nodePorts=[31001])},
        r"sbConnection\.nodePorts has 1 ports, spec\.southbound\.replicas is 3",
    ),
    (
        "a port for Neutron that is one of chassis",
        {"southbound": local_ports(31001, 31002, 31003), **neutron_outside(nodePorts=[31001, 31004, 31005])},
        r"node port 31001 is named 2 times",
    ),
    (
        "two families on a single stack",
        {"network": {"ipFamilies": ["IPv6", "IPv4"]}},
        r"^spec\.network\.ipFamilies names two: .*Set spec\.network\.ipFamilyPolicy",
    ),
    (
        "exposed without TLS",
        {"southbound": {"service": {"type": "NodePort"}}, "tls": {"enabled": False}},
        r"^spec\.southbound\.service\.type is NodePort, and spec\.tls\.enabled is false: .*southbound\.service\.allowPlaintext: true",
    ),
    (
        "two bundles of clients",
        {"tls": {"southboundClientCaKey": "a", "southboundClientCaConfigMapRef": {"name": "b"}}},
        r"^spec\.tls: southboundClientCaKey and southboundClientCaConfigMapRef exclude each other: .*Remove one",
    ),
    ("a ConfigMap without name", {"tls": {"caConfigMapRef": {"key": "a"}}}, r"^spec\.tls\.caConfigMapRef\.name"),
    ("a key with a slash", {"tls": {"caConfigMapRef": {"name": "a", "key": "a/b"}}}, r"tls\.caConfigMapRef\.key is"),
    (
        "networks that no policy can see",
        northbound(service={"type": "NodePort", "allowedCidrs": ["192.0.2.0/24"]}),
        r"^spec\.northbound\.service\.allowedCidrs is set: .*externalTrafficPolicy to Local",
    ),
    (
        "an address for an allowed network",
        northbound(service={"allowedCidrs": ["192.0.2.0/24", "192.0.2.1/24"]}),
        r"allowedCidrs\[1\] is .*host bits set",
    ),
    (
        "a label that YAML reads as truth",
        {"ovs": {"nodeSelector": {"a": True}}},
        r"nodeSelector\[a\] is True.*in quotes",
    ),
    ("a label that is a number", {"ovs": {"nodeSelector": {1: "a"}}}, r"nodeSelector has the key 1.*in quotes"),
    (
        "a quantity",
        {"northd": {"resources": {"limits": {"memory": "1x"}}}},
        r'limits\[memory\] is "1x", which does not',
    ),
    ("a finer quantity", {"northd": {"resources": {"limits": {"cpu": "0.0001"}}}}, r"limits\[cpu\].*smaller unit"),
    (
        "interface and network",
        {"encapsulation": {"interface": "a", "cidr": "10.0.0.0/8"}},
        r"spec\.encapsulation:.*Remove",
    ),
    (
        "an address for a network",
        {"encapsulation": {"cidr": "192.0.2.1/24"}},
        r"cidr is .*host bits set.*Use a network",
    ),
    ("an old encapsulation", {"encapsulation": {"type": "stt"}}, r'type is "stt"\. Use one of "geneve", "vxlan"'),
    ("a long device name", {"encapsulation": {"interface": "a" * 16}}, r"interface has 16 characters\. Use at most 15"),
    (
        "an underlay of the kernel's datapath",
        {"ovs": {"underlay": {"bridge": "br-phy", "interface": "eth1"}}},
        r"^spec\.ovs\.underlay is set, but spec\.ovs\.datapathType is system: only a datapath in user space \(netdev\) needs an underlay",
    ),
    (
        "half an underlay",
        {"ovs": {"underlay": {"bridge": "br-phy"}}},
        r"^spec\.ovs\.underlay\.interface is missing\. Set it",
    ),
    ("half a mapping", {"bridgeMappings": [{"bridge": "br-ex"}]}, r"bridgeMappings\[0\]\.physicalNetwork is missing"),
    (
        "a physical network twice",
        {"bridgeMappings": [{"physicalNetwork": "a", "bridge": "x"}, {"physicalNetwork": "a", "bridge": "y"}]},
        r"^spec\.bridgeMappings\[1\] repeats a\.",
    ),
    (
        "a device on two bridges",
        {
            "bridgeMappings": [
                {"physicalNetwork": "a", "bridge": "x", "ports": ["eth1"]},
                {"physicalNetwork": "b", "bridge": "y", "ports": ["eth1"]},
            ]
        },
        r"^spec\.bridgeMappings\[1\]\.ports names eth1, which is already a port of bridge x",
    ),
    ("one name for both Services", neutron("ovn-sb"), r'both connections use the Service "ovn-sb"'),
    ("the name of another Service", neutron("ovn-northbound-4"), r"which is the name of another Service"),
    ("a Service that begins with a number", neutron("1nb"), r'service\.name is "1nb", which does not have the form'),
    ("a digest without its kind", {"ovnImage": {"digest": "0" * 64}}, r"^spec\.ovnImage\.digest is "),
    ("networks of nothing", {"network": {"netCidr": "10.0.0.0"}}, r"^spec\.network\.netCidr is "),
    ("more in a part than in the whole", {"network": {"netCidr": "10.0.0.0/14/12"}}, r"length of 14 or more"),
    ("too many tolerations", northbound(tolerations=[{"operator": "Exists"}] * 33), r"has 33 entries, at most 32"),
    (
        "a metadata agent without an image",
        metadata_agent(image={"repository": "r"}),
        r"metadataAgent\.image names no complete image",
    ),
    ("an unknown program of the metadata agent", metadata_agent(program="x"), r"metadataAgent\.program"),
    ("a metadata agent without Nova", metadata_agent(novaMetadata={}), r"metadataAgent\.novaMetadata\.host"),
    ("a metadata agent without a secret", metadata_agent(sharedSecretRef=None), r"metadataAgent\.sharedSecretRef"),
    (
        "a metadata agent elsewhere than ovn-controller",
        metadata_agent(nodeSelector={"node-role.kubernetes.io/hypervisor": "no"}),
        r"metadataAgent\.nodeSelector",
    ),
    (
        "an option of the metadata agent with two lines",
        metadata_agent(extraConfig={"DEFAULT": {"debug": "a\nb"}}),
        r"metadataAgent\.extraConfig",
    ),
    ("the account that all pods have", {"observer": {"serviceAccountName": "default"}}, "serviceAccountName"),
    ("an account that cannot exist", {"observer": {"serviceAccountName": "a..b"}}, "serviceAccountName"),
    ("an image of agents without a name", {"agentImage": {"tag": "1"}}, r"spec\.agentImage\.repository"),
    ("a priority class that is no name", {"priorityClassName": "High Priority"}, r"spec\.priorityClassName"),
]
