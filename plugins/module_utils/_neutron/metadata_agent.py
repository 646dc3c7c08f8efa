# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

What the agent for metadata (`neutron-ovn-metadata-agent`) has to know (neutron/conf/agent/ovn/metadata/config.py, neutron/conf/agent/metadata/config.py). Pure.
"""

from __future__ import annotations

import typing as t


def metadata_agent_settings(
    *,
    southbound: t.Sequence[str],
    open_vswitch: str,
    nova_host: str,
    nova_port: int = 8775,
    nova_protocol: str = "http",
    shared_secret: str = "",
    private_key: str = "",
    certificate: str = "",
    ca_certificate: str = "",
    workers: int | None = None,
) -> dict[str, dict[str, t.Any]]:
    """Return the sections of `neutron_ovn_metadata_agent.ini`.

    `southbound` are endpoints where the agent has the role of its chassis, `open_vswitch` the endpoint of the local database (`unix:FILE`). Without
    `shared_secret` (it may come from another file) the option is left out, and without `workers` the agent's default counts.
    """
    default: dict[str, t.Any] = {
        "nova_metadata_host": nova_host,
        "nova_metadata_port": nova_port,
        "nova_metadata_protocol": nova_protocol,
    }
    if shared_secret:
        default["metadata_proxy_shared_secret"] = shared_secret
    if workers is not None:
        default["metadata_workers"] = workers
    ovn: dict[str, t.Any] = {"ovn_sb_connection": list(southbound)}
    if private_key:
        ovn |= {
            "ovn_sb_private_key": private_key,
            "ovn_sb_certificate": certificate,
            "ovn_sb_ca_cert": ca_certificate,
        }
    return {"DEFAULT": default, "ovs": {"ovsdb_connection": open_vswitch}, "ovn": ovn}
