"""Which playbooks AWX offers, with which questions, and which it does not, and why."""

from __future__ import annotations

from dataclasses import dataclass

HOURLY, DAILY, WEEKLY, TEN_MINUTES = "HOURLY", "DAILY", "WEEKLY", "TEN_MINUTES"


@dataclass(frozen=True)
class Offer:
    """What AWX offers of a playbook.

    `asks`: options of roles that people set for one run, never what belongs into an inventory. `check`: whether check mode tells something; then there is a
    template for it. `limit`: whether a part of the inventory makes sense; a report needs all of it. `tags`: whether the playbook has parts.
    `approval`: what somebody has to know who approves the run; empty if it neither restarts nor removes anything. `verifies`: whether it ends with a proof.
    `simultaneous`: whether two may run at once. `schedules`: how often, whether in check mode, and what for; only runs that change nothing, and
    what is off by default: the pass that is made to run unattended, and what renews the certificates of Neutron.
    """

    title: str
    asks: tuple[str, ...] = ()
    check: bool = False
    limit: bool = True
    approval: str = ""
    tags: bool = False
    verifies: bool = False
    simultaneous: bool = False
    schedules: tuple[tuple[str, bool, str], ...] = ()


# Options whose answer can remove what a proof would look for.
REMOVING = frozenset({"ovn_hypervisor_state"})
RESTARTS = "Members may restart, one at a time. The output of the check before says which and why."
# Options of one run over the databases.
OF_DATABASES = (
    "ovn_central_permit",
    "ovn_break_lock",
)
OFFERED = {
    "site": Offer(
        "site",
        asks=OF_DATABASES,
        check=True,
        approval=RESTARTS,
        tags=True,
        verifies=True,
        schedules=((DAILY, True, "Its output shows what differs from the inventory; it changes nothing"),),
    ),
    "precheck": Offer("precheck", simultaneous=True),
    "central": Offer(
        "control plane",
        asks=OF_DATABASES,
        check=True,
        approval=RESTARTS,
        tags=True,
    ),
    "hypervisors": Offer(
        "hypervisors",
        asks=("ovn_hypervisor_state", "ovn_break_lock"),
        check=True,
        approval="Open vSwitch and ovn-controller may restart. With the state absent or gone, each hypervisor within the limit is removed.",
        tags=True,
    ),
    "status": Offer("status", limit=False, simultaneous=True),
    "verify": Offer(
        "verify",
        limit=False,
        asks=("ovn_verify_wait_for", "ovn_verify_contents"),
        verifies=True,
        schedules=((HOURLY, False, "Fails if anything is wrong"),),
    ),
    "adopt": Offer(
        "adopt",
        asks=OF_DATABASES,
        check=True,
        approval="Each member that something else runs is stopped and taken over, one at a time. The check before prints the order.",
    ),
    "reconcile": Offer(
        "reconcile",
        check=True,
        tags=True,
        schedules=((TEN_MINUTES, False, "Brings all hosts to their state; off unless ovn_awx_schedules has it"),),
    ),
    "rotate": Offer(
        "rotate certificates",
        asks=("ovn_pki_rotate",),
        check=True,
        approval="All certificates are replaced, and the CAs unless only a renewal is asked for. Clients of a former CA lose their access in the last phase.",
    ),
    "operator": Offer("operator", limit=False, asks=("ovn_operator_state", "ovn_operator_all_namespaces"), check=True),
    "neutron": Offer(
        "neutron",
        check=True,
        approval="Services of Neutron whose settings have changed restart, one host after the other.",
        schedules=(
            (
                WEEKLY,
                False,
                "Renews certificates of Neutron and its metadata agents; off unless ovn_awx_schedules has it",
            ),
        ),
    ),
    "show": Offer("show", limit=False, simultaneous=True),
    "census": Offer("census", limit=False, simultaneous=True),
    "ping": Offer(
        "ping",
        asks=("ovn_ping_hosts", "ovn_ping_state", "ovn_ping_count", "ovn_ping_ip_version", "ovn_ping_mtu"),
    ),
}
NOT_OFFERED = {
    "awx": "it makes these templates, with a token that may change all of them; run it where that token is kept"
}
