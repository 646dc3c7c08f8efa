"""What the metadata agent of an OVNCluster can be, and what is refused."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.metadata_agent_spec import MetadataAgent
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput

Object = dict[str, t.Any]
COMPLETE: Object = {
    "enabled": True,
    "image": {"repository": "r/neutron", "tag": "1"},
    "novaMetadata": {"host": "nova.example.com"},
    "sharedSecretRef": {"name": "nova"},
}


def agent(raw: Object, **more: t.Any) -> MetadataAgent:
    return parse_spec({"metadataAgent": raw, **more}, name="ovn", namespace="net").metadata_agent


def test_defaults() -> None:
    found = agent({})
    assert not found.enabled
    assert found.shared_secret_ref is None
    assert found.node_selector == found.extra_config == {}
    assert found.workers is None
    found = agent(COMPLETE)
    assert (found.nova_metadata.port, found.nova_metadata.protocol) == (8775, "http")
    assert found.shared_secret_ref is not None
    assert found.shared_secret_ref.key == "metadata_proxy_shared_secret"
    assert found.max_unavailable == "1"
    assert found.program == "neutron-ovn-metadata-agent"


def test_a_digest_in_place_of_a_tag() -> None:
    digest = "sha256:" + "1" * 64
    found = agent({**COMPLETE, "image": {"repository": "r/neutron", "digest": digest}})
    assert found.image.reference == f"r/neutron@{digest}"


OVN_AGENT = "neutron-ovn-agent"
NO_METADATA = "spec.metadataAgent.extraConfig sets extensions in [agent] to"
REFUSED = [
    ({"program": "neutron-metadata-agent"}, "spec.metadataAgent.program is"),
    (
        {"program": OVN_AGENT, "extraConfig": {"AGENT": {"extensions": "ovn-bgp"}}},
        f"{NO_METADATA} ovn-bgp: {OVN_AGENT}",
    ),
    ({"program": OVN_AGENT, "extraConfig": {"agent": {"extensions": ""}}}, f"{NO_METADATA} nothing: {OVN_AGENT}"),
    ({"image": {}}, "spec.metadataAgent.image names no complete image: there is no image of Neutron here"),
    ({"image": {"repository": "r"}}, "spec.metadataAgent.image names no complete image"),
    ({"image": {"tag": "1"}}, "spec.metadataAgent.image names no complete image"),
    ({"novaMetadata": {}}, "spec.metadataAgent.novaMetadata.host is missing: an enabled metadata agent"),
    ({"sharedSecretRef": None}, "spec.metadataAgent.sharedSecretRef is missing: an enabled metadata agent"),
    ({"sharedSecretRef": {}}, "spec.metadataAgent.sharedSecretRef.name is missing"),
    (
        {"novaMetadata": {}, "sharedSecretRef": None},
        "spec.metadataAgent.novaMetadata.host and spec.metadataAgent.sharedSecretRef are missing",
    ),
    ({"novaMetadata": {"host": "nova\nhost"}}, "spec.metadataAgent.novaMetadata.host is"),
    ({"novaMetadata": {"host": "nova", "protocol": "ftp"}}, "spec.metadataAgent.novaMetadata.protocol is"),
    (
        {"nodeSelector": {"node-role.kubernetes.io/hypervisor": "no"}},
        "spec.metadataAgent.nodeSelector[node-role.kubernetes.io/hypervisor] is",
    ),
    (
        {"extraConfig": {"DEFAULT": {"nova_metadata_host": "x"}}},
        "spec.metadataAgent.extraConfig sets nova_metadata_host",
    ),
    ({"extraConfig": {"AGENT": {"root-helper": "x"}}}, "spec.metadataAgent.extraConfig sets root-helper"),
    (
        {"extraConfig": {"DEFAULT": {"metadata_proxy_shared_secret": "x"}}},
        "spec.metadataAgent.extraConfig sets metadata_proxy_shared_secret",
    ),
    ({"extraConfig": {"a]": {"b": "x"}}}, "spec.metadataAgent.extraConfig has"),
    ({"extraConfig": {"a": {"b = c": "x"}}}, "spec.metadataAgent.extraConfig has"),
    ({"extraConfig": {"a": {"b": "x\ny"}}}, "spec.metadataAgent.extraConfig[a][b] is"),
    ({"extraConfig": {"a": {"b": True}}}, "spec.metadataAgent.extraConfig[a][b] is True"),
]


@pytest.mark.parametrize(("change", "words"), REFUSED)
def test_what_is_refused(change: Object, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        agent({**COMPLETE, **change})
    assert str(caught.value).startswith(words)


def test_one_that_is_not_enabled_needs_nothing() -> None:
    assert not agent({"novaMetadata": {"port": 80}}).enabled
    assert agent({**COMPLETE, "nodeSelector": {"guests": "yes"}}).node_selector == {"guests": "yes"}


def test_more_extensions() -> None:
    extra = {"agent": {"extensions": "ovn-bgp,metadata"}}
    found = agent({**COMPLETE, "program": OVN_AGENT, "extraConfig": extra})
    assert (found.program, found.extra_config) == (OVN_AGENT, extra)
    # The other program has none: what nobody reads does no harm.
    assert agent({**COMPLETE, "extraConfig": {"agent": {"extensions": "ovn-bgp"}}}).extra_config


def test_numbers_are_texts() -> None:
    assert agent({**COMPLETE, "extraConfig": {"ovn": {"ovsdb_timeout": 30}}}).extra_config == {
        "ovn": {"ovsdb_timeout": "30"}
    }
