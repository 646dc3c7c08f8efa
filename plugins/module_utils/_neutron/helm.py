# SPDX-License-Identifier: GPL-3.0-or-later
"""The same for the Helm chart `neutron` of OpenStack-Helm: a file of overrides, as `helm upgrade --values FILE` takes it. Pure."""

from __future__ import annotations

import typing as t

from .ini import Sections, file_value

# Sections that the chart keeps in neutron.conf; the others belong to ml2_conf.ini.
_OF_NEUTRON_CONF = ("DEFAULT",)
# As Genestack calls its own, which ours takes the place of: a patch that it makes after Helm names this volume.
_MOUNT_NAME = "ovn-tls"
# The processes of the chart run as 42424, and files of a Secret are root's: without this group of the pod (fsGroup) they could not read the key.
_GROUP = 42424
# Agents on compute nodes. The chart gives them the endpoints of the server, which no compute node may use, and no certificate.
_AGENTS = ("daemonset_ovn_metadata_agent", "daemonset_ovn_agent")
# Pods of the chart that connect to the databases, as their keys in `pod.mounts`. Its CronJob neutron_ovn_db_sync (off by default) is none of them: with a mount
# its template is no YAML any more (2026.1.0), and Helm fails.
_SERVER_PODS = ("neutron_server", "neutron_rpc_server")


def helm_overrides(sections: Sections, *, secret: str = "", directory: str = "") -> dict[str, t.Any]:
    """Return the overrides; with TLS, `secret` has the client certificate (`tls.key`, `tls.crt`, `ca.crt`) and is mounted at `directory`."""
    ml2 = {name: _values(name, options) for name, options in sections.items() if name not in _OF_NEUTRON_CONF}
    neutron = {name: _values(name, sections[name]) for name in _OF_NEUTRON_CONF if sections.get(name)}
    overrides: dict[str, t.Any] = {
        "network": {"backend": ["ovn"]},
        "conf": {"neutron": neutron, "plugins": {"ml2_conf": ml2}},
        "manifests": dict.fromkeys(_AGENTS, False),
    }
    if secret:
        overrides["pod"] = {
            "mounts": {name: {name: _mounts(secret, directory)} for name in _SERVER_PODS},
            "security_context": {name: {"pod": {"fsGroup": _GROUP}} for name in _SERVER_PODS},
        }
    return overrides


def _mounts(secret: str, directory: str) -> dict[str, t.Any]:
    return {
        "volumes": [{"name": _MOUNT_NAME, "secret": {"secretName": secret, "defaultMode": 0o440}}],
        "volumeMounts": [{"name": _MOUNT_NAME, "mountPath": directory, "readOnly": True}],
    }


def _values(section: str, options: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Texts, but for booleans, which templates of the chart may ask for. Of a number Helm would make 1e+06, which Neutron does not take."""
    return {
        name: value if isinstance(value, bool) else file_value(section, name, value) for name, value in options.items()
    }
