# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

What the Open vSwitch database of a host says about its chassis. Read only.
"""

from __future__ import annotations

import os
import typing as t

from .._deadline import Deadline
from .._errors import OvnError
from .._ovsdb.endpoint import parse_endpoint
from .._ovsdb.rows import select
from .._ovsdb.tls_files import NO_TLS
from .._ovsdb.wire import Connection


def read_chassis(database: str, seconds: float) -> dict[str, str]:
    """Return `system_id` and `remote` of the chassis, both empty if there is no database, or none that answers."""
    nothing = {"system_id": "", "remote": ""}
    try:
        endpoint = parse_endpoint(database)
        if endpoint.scheme == "unix" and not os.path.exists(endpoint.host):
            return nothing
        with Connection(endpoint, NO_TLS, Deadline(seconds)) as connection:
            rows: list[dict[str, t.Any]] = select(connection, "Open_vSwitch", {"Open_vSwitch": ["external_ids"]})[
                "Open_vSwitch"
            ]
    except (OvnError, OSError):  # an Open vSwitch that does not run has no chassis either
        return nothing
    settings = rows[0]["external_ids"] if rows else {}
    return {"system_id": settings.get("system-id", ""), "remote": settings.get("ovn-remote", "")}
