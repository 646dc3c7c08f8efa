# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

One of several processes leads: an election by a Lease.
"""

from __future__ import annotations

import typing as t

from .._errors import InvalidInput

try:
    import kubernetes
    from kubernetes.leaderelection import electionconfig, leaderelection
    from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock
except ImportError as e:
    _PROBLEM = str(e)
else:
    _PROBLEM = ""

# As the controllers of Kubernetes have them: seconds that a dead leader is waited for, that a leader tries to renew, and between two attempts.
_LEASE, _RENEWAL, _RETRY = 15, 10, 2


def lead(
    name: str, namespace: str, identity: str, on_start: t.Callable[[], None], on_stop: t.Callable[[], None]
) -> None:
    """Wait until this process leads, then run `on_start` in a thread; call `on_stop` and return once it leads no more, or if `on_start` has raised an error."""
    if _PROBLEM:
        raise InvalidInput(
            f"The election of a leader needs the Python library kubernetes, version 36 or newer ({_PROBLEM})."
        )
    kubernetes.config.load_config()
    config = electionconfig.Config(
        LeaseLock(name, namespace, identity),
        _LEASE,
        _RENEWAL,
        _RETRY,
        onstarted_leading=on_start,
        onstopped_leading=on_stop,
    )
    leaderelection.LeaderElection(config).run()
