# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The ServiceAccount of each component: one of ours, which a run makes, or one of the user's, which a run neither makes nor changes nor deletes. Pure.
"""

from __future__ import annotations

import typing as t

from .names import Component, database_name, northd_name, observer_name

if t.TYPE_CHECKING:
    from .spec import ClusterSpec

CONTROLLER_ACCOUNT, OVS_ACCOUNT = "ovn-controller", "ovs"


class Account(t.NamedTuple):
    """`name` is the account of the pods, `own` the one that they have unless the specification names another."""

    component: Component
    name: str
    own: str

    @property
    def field(self) -> str:
        return f"spec.{self.component}.serviceAccountName"


def central_accounts(spec: ClusterSpec) -> list[Account]:
    """Return the accounts of the control plane."""
    return [
        _account("northbound", spec.northbound.service_account_name, database_name(spec.name, "northbound")),
        _account("southbound", spec.southbound.service_account_name, database_name(spec.name, "southbound")),
        _account("northd", spec.northd.service_account_name, northd_name(spec.name)),
        _account("observer", spec.observer.service_account_name, observer_name(spec.name)),
    ]


def hypervisor_accounts(spec: ClusterSpec) -> list[Account]:
    """Return the accounts of a hypervisor cluster, also where nodes have their own Open vSwitch."""
    return [
        _account("ovs", spec.ovs.service_account_name, OVS_ACCOUNT),
        _account("controller", spec.controller.service_account_name, CONTROLLER_ACCOUNT),
    ]


def account_of(accounts: t.Iterable[Account], component: Component) -> str:
    """Return the account of the pods of one component."""
    return next(one.name for one in accounts if one.component == component)


def accounts_to_make(accounts: t.Sequence[Account]) -> list[Account]:
    """Return the components whose own account a run makes: those with pods of that account, of whichever component."""
    used = {one.name for one in accounts}
    return [one for one in accounts if one.own in used]


def given_accounts(accounts: t.Sequence[Account]) -> dict[str, str]:
    """Return field to name of the accounts that somebody else has to make."""
    ours = {one.own for one in accounts}
    return {one.field: one.name for one in accounts if one.name not in ours}


def _account(component: Component, given: str | None, own: str) -> Account:
    return Account(component, given or own, own)
