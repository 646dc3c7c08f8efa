# SPDX-License-Identifier: GPL-3.0-or-later
"""The unit that loads the table when a machine starts. Pure."""

from __future__ import annotations

import typing as t

from .ruleset import FAMILY, TABLE

FILE = "/etc/c5c3-ovn/firewall.nft"
UNIT = "c5c3-ovn-firewall.service"
_TEXT = f"""\
# Written by Ansible: changes are lost.
[Unit]
Description=Firewall rules for the ports of OVN
Documentation=man:nft(8)
ConditionPathExists={FILE}
DefaultDependencies=no
Conflicts=shutdown.target
Before=shutdown.target network-pre.target
Wants=network-pre.target
Before=c5c3-ovn-northbound.service c5c3-ovn-southbound.service c5c3-ovn-southbound-relay.service c5c3-ovn-controller.service
# Its configuration usually begins with "flush ruleset", which deletes all tables, also when it is only reloaded.
After=nftables.service
PartOf=nftables.service
ReloadPropagatedFrom=nftables.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/sbin/nft -f {FILE}
ExecReload=/usr/sbin/nft -f {FILE}
ExecStop=-/usr/sbin/nft delete table {FAMILY} {TABLE}
CapabilityBoundingSet=CAP_NET_ADMIN CAP_DAC_READ_SEARCH
NoNewPrivileges=yes
ProtectHome=yes
ProtectSystem=full

[Install]
WantedBy=sysinit.target nftables.service
"""


def unit_files(*, managed: bool) -> list[dict[str, str]]:
    """Return the files of the unit, in the form of `ovn_units`."""
    path = f"/etc/systemd/system/{UNIT}"
    return [{"path": path, "content": _TEXT} if managed else {"path": path, "state": "absent"}]


def units(*, managed: bool) -> list[dict[str, t.Any]]:
    """Return the state of the unit, in the form of `ovn_units`. Where it is stopped it has deleted the table."""
    return [{"name": UNIT, "enabled": managed, "state": "started" if managed else "stopped"}]
