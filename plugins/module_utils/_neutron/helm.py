# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The same for the Helm chart `neutron` of OpenStack-Helm: a file of overrides, as `helm upgrade --values FILE` takes it. Pure.
"""

from __future__ import annotations

import typing as t

from .ini import Sections, plain_value

# Sections that the chart keeps in neutron.conf; the others belong to ml2_conf.ini.
_OF_NEUTRON_CONF = ("DEFAULT",)
_MOUNT_NAME = "ovn-client-certificate"
# Pods of the chart that connect to the databases, as their keys in `pod.mounts`
_SERVER_PODS = ("neutron_server", "neutron_rpc_server", "neutron_ovn_db_sync")


def helm_overrides(sections: Sections, *, secret: str = "", directory: str = "") -> dict[str, t.Any]:
    """Return the overrides; with TLS, `secret` has the client certificate (`tls.key`, `tls.crt`, `ca.crt`) and is mounted at `directory`."""
    ml2 = {name: _values(name, options) for name, options in sections.items() if name not in _OF_NEUTRON_CONF}
    neutron = {name: _values(name, sections[name]) for name in _OF_NEUTRON_CONF if sections.get(name)}
    overrides: dict[str, t.Any] = {
        "network": {"backend": ["ovn"]},
        "conf": {"neutron": neutron, "plugins": {"ml2_conf": ml2}},
    }
    if secret:
        mounts = {
            "volumes": [{"name": _MOUNT_NAME, "secret": {"secretName": secret, "defaultMode": 0o440}}],
            "volumeMounts": [{"name": _MOUNT_NAME, "mountPath": directory, "readOnly": True}],
        }
        overrides["pod"] = {"mounts": {name: {name: mounts} for name in _SERVER_PODS}}
    return overrides


def _values(section: str, options: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The chart passes texts, numbers and booleans on as they are; lists and dictionaries become texts."""
    return {
        name: value if isinstance(value, (bool, int, float)) else plain_value(section, name, value)
        for name, value in options.items()
    }
