# SPDX-License-Identifier: GPL-3.0-or-later
"""The ServiceAccount of each component: one of ours, which a run makes, or one of the user's, which a run neither makes nor changes nor deletes. Pure."""

from __future__ import annotations

import typing as t

from .names import Component, Object, database_name, northd_name, observer_name

if t.TYPE_CHECKING:
    from .spec import ClusterSpec

CONTROLLER_ACCOUNT, OVS_ACCOUNT = "ovn-controller", "ovs"
_KINDS: dict[Component, str] = {
    "northbound": "StatefulSet",
    "southbound": "StatefulSet",
    "northd": "Deployment",
    "observer": "Deployment",
    "controller": "DaemonSet",
    "ovs": "DaemonSet",
}


class Account(t.NamedTuple):
    """`name` is the account of the pods, `own` the one that they have unless the specification names another. The workload has the name of `own`, too."""

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


def accounts_in_use(spec: ClusterSpec) -> list[Account]:
    """Return the accounts of the pods of a hypervisor cluster: none for Open vSwitch where nodes have their own."""
    return [one for one in hypervisor_accounts(spec) if one.component != "ovs" or spec.ovs.mode == "managed"]


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


def account_of_pods(workload: Object) -> str | None:
    """Return the account in the pod template of a workload; None if it names none, as before there were accounts."""
    name = workload["spec"]["template"]["spec"].get("serviceAccountName")
    return None if name is None else str(name)


def account_change(
    accounts: t.Iterable[Account], index: t.Mapping[tuple[str, str, str, str], Object], namespace: str
) -> str:
    """Return why workloads that exist cannot get their declared accounts; empty if they have them. `index`: objects by API version, kind, namespace and name.

    Rights belong to accounts and are written at once, but pods follow one by one, or never if something stands against their rollout.
    """
    found, back = [], []
    for one in accounts:
        kind = _KINDS[one.component]
        workload = index.get(("apps/v1", kind, namespace, one.own))
        existing = account_of_pods(workload) if workload else None
        if existing in (None, one.name):
            continue
        found.append(
            f"{kind} {namespace}/{one.own} has the ServiceAccount {existing}, and {one.field} asks for {one.name}"
        )
        back.append(f"remove {one.field}" if existing == one.own else f"set {one.field} to {existing}")
    if not found:
        return ""
    return (
        f"{'; '.join(found)}: rights and pods would change at different moments, so accounts are only chosen at the installation. "
        f"To go on as before, {' and '.join(back)}. To change accounts, remove the installation with state absent, which keeps the data, and install it again."
    )


def _account(component: Component, given: str | None, own: str) -> Account:
    return Account(component, given or own, own)
