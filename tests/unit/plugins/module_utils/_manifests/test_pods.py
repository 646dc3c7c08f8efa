"""The files of TLS in the pods: the whole Secret, or what is used of it with the CAs of ConfigMaps."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.hypervisor_pods import controller_pod
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.pods import TLS_FILES, relay_tls_files

Object = dict[str, t.Any]
WORKLOADS = [
    ("StatefulSet", "prod-northbound"),
    ("StatefulSet", "prod-southbound"),
    ("Deployment", "prod-northd"),
    ("Deployment", "prod-observer"),
]
TRUSTED = {"caConfigMapRef": {"name": "trusted"}}
CLIENTS = {"southboundClientCaConfigMapRef": {"name": "clients", "key": "all.pem"}}
KEY = {"southboundClientCaKey": "clients.crt"}

SECRET = {"secret": {"secretName": "prod-tls", "defaultMode": 0o440}}
PAIR = [{"key": "tls.key", "path": "tls.key"}, {"key": "tls.crt", "path": "tls.crt"}]
CA = {"key": "ca.crt", "path": "ca.crt"}
TRUSTED_SOURCE = {"configMap": {"name": "trusted", "items": [CA]}}
CLIENTS_SOURCE = {"configMap": {"name": "clients", "items": [{"key": "all.pem", "path": "client-ca.crt"}]}}
CLIENTS_KEY = {"key": "clients.crt", "path": "client-ca.crt"}


def projected(items: list[Object], *config_maps: Object, mode: int = 0o440) -> Object:
    secret = {"secret": {"name": "prod-tls", "items": items}}
    return {"projected": {"sources": [secret, *config_maps], "defaultMode": mode}}


# Fields of tls, the volume of members of the Southbound, that of everybody else, and the bundle of the former.
TABLE: list[tuple[Object, Object, Object, str]] = [
    ({}, SECRET, SECRET, "ca.crt"),
    (KEY, SECRET, SECRET, "clients.crt"),
    (TRUSTED, projected(PAIR, TRUSTED_SOURCE), projected(PAIR, TRUSTED_SOURCE), "ca.crt"),
    (CLIENTS, projected([*PAIR, CA], CLIENTS_SOURCE), SECRET, "client-ca.crt"),
    (
        {**TRUSTED, **CLIENTS},
        projected(PAIR, TRUSTED_SOURCE, CLIENTS_SOURCE),
        projected(PAIR, TRUSTED_SOURCE),
        "client-ca.crt",
    ),
    (
        {**TRUSTED, **KEY},
        projected([*PAIR, CLIENTS_KEY], TRUSTED_SOURCE),
        projected(PAIR, TRUSTED_SOURCE),
        "client-ca.crt",
    ),
]
IDS = ["nothing", "a key", "trusted CAs", "CAs of clients", "both", "trusted CAs and a key"]


@pytest.mark.parametrize(("tls", "southbound", "others", "bundle"), TABLE, ids=IDS)
def test_control_plane(
    central: t.Callable[..., t.Any], tls: Object, southbound: Object, others: Object, bundle: str
) -> None:
    manifests = central({"tls": tls})
    for kind, name in WORKLOADS:
        pod = manifests.pod(kind, name)
        # The observer tells when the CAs of both databases end.
        expected = southbound if name in ("prod-southbound", "prod-observer") else others
        assert [volume for volume in pod["volumes"] if volume["name"] == "tls"] == [{"name": "tls", **expected}], name
        containers = [*pod.get("initContainers", ()), *pod["containers"]]
        values = {variable.get("value") for one in containers for variable in one.get("env") or ()}
        words = {word for one in containers for word in one["command"]}
        used = {text for text in values | words if str(text).endswith(".crt") and text != "/tls/tls.crt"}
        bundles = {"prod-southbound": {"ca.crt", bundle}, "prod-observer": {"ca.crt", bundle}}.get(name, {"ca.crt"})
        assert used == {f"/tls/{one}" for one in bundles}, name


@pytest.mark.parametrize(("tls", "southbound", "others", "bundle"), TABLE, ids=IDS)
def test_files_of_relays(tls: Object, southbound: Object, others: Object, bundle: str) -> None:
    for fields, files in ((tls, TLS_FILES), ({**tls, "enabled": False}, None)):
        spec = parse_spec({"tls": fields}, name="prod", namespace="net")
        assert relay_tls_files(spec) == (
            files._replace(ca_certificate=f"/tls/{bundle}") if files else (None, None, None)
        )


@pytest.mark.parametrize("tls", [row[0] for row in TABLE], ids=IDS)
def test_hypervisors(tls: Object) -> None:
    """They let nobody in; their Secret, of another CA, has no bundle of clients."""
    spec = parse_spec({"tls": tls}, name="prod", namespace="net")
    pod = controller_pod(spec, "rack1-tls")
    (volume,) = [one for one in pod["volumes"] if one["name"] == "tls"]
    if "caConfigMapRef" in tls:
        sources = [{"secret": {"name": "rack1-tls", "items": PAIR}}, TRUSTED_SOURCE]
        assert volume == {"name": "tls", "projected": {"sources": sources, "defaultMode": 0o400}}
    else:
        assert volume == {"name": "tls", "secret": {"secretName": "rack1-tls", "defaultMode": 0o400}}


def test_a_secret_of_which_every_key_is_used_for_something_else() -> None:
    """No path twice, which the API server refuses."""
    spec = {"tls": {**TRUSTED, "southboundClientCaKey": "ca.crt"}}
    files = relay_tls_files(parse_spec(spec, name="prod", namespace="net"))
    assert files.ca_certificate == "/tls/client-ca.crt"
