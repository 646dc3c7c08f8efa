# SPDX-License-Identifier: GPL-3.0-or-later

"""The two databases of OVN: their names, ports and default timer, defined here alone."""

from __future__ import annotations

import dataclasses
import typing as t

Database = t.Literal["northbound", "southbound"]

DATABASES: tuple[Database, Database] = ("northbound", "southbound")
TITLES = {"northbound": "Northbound", "southbound": "Southbound"}
# As their schemas name them.
DATABASE_NAMES = {"northbound": "OVN_Northbound", "southbound": "OVN_Southbound"}
# What the names of a server's sockets, pid and database file begin with, as the distributions have it.
STEMS = {"northbound": "ovnnb_db", "southbound": "ovnsb_db"}
# The databases of OVN interconnection (ovn-ic), which others run. Each has the name of its schema and what the names of its server's sockets begin with.
INTERCONNECTION = {
    "northbound": ("OVN_IC_Northbound", "ovn_ic_nb_db"),
    "southbound": ("OVN_IC_Southbound", "ovn_ic_sb_db"),
}
# Milliseconds: the default of OVSDB (ovsdb-tool(1), create-cluster), which counts where no timer is set.
OVSDB_ELECTION_TIMER = 1000
# Milliseconds: our defaults, of the OVNCluster and of the role. roles/ovn_central has them in defaults and argument_specs once more, for people.
DEFAULT_ELECTION_TIMER = 5000
DEFAULT_INACTIVITY_PROBE = 30000


@dataclasses.dataclass(frozen=True)
class Ports:
    """Where one database listens: for its clients, for its other members, and for clients that do not have the role of a chassis."""

    client: int
    raft: int
    unrestricted: int

    @property
    def for_clients(self) -> dict[str, int]:
        """Return the ports that are not those of Raft, by the names that Services give them."""
        more = {} if self.unrestricted == self.client else {"unrestricted": self.unrestricted}
        return {"client": self.client, **more}


PORTS: dict[Database, Ports] = {"northbound": Ports(6641, 6643, 6641), "southbound": Ports(6642, 6644, 16642)}
