# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with an inventory and with the scope of a run, before anything is done: groups, options, --limit, tags, a foreign control plane. Pure.

Ansible calls a run that does nothing a success.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import json
import typing as t

from .endpoints import foreign_central_problem
from .option_types import Specification, option_problem, plain
from .shared_variables import SPECIFICATION as SHARED
from .variables import Groups, Hostvars, Variables, is_true, members_of

# Which Ansible calls localhost, whatever its name in the inventory is
_LOCALHOST = {"localhost", "127.0.0.1", "::1"}
_TAGS_OF_ANSIBLE = {"all", "always", "tagged", "untagged"}
_SHARED_TAGS = ("pki", "packages", "config", "databases", "chassis")
_OF_ANSIBLE = {"all", "ungrouped"}
_OURS = {"ovn_central", "ovn_controllers", "ovn_gateways", "ovn_hypervisors"}
_SIMILAR = 0.75  # of difflib: ovn_centrals, ovn-central, ovn_hypervisor, ovn_hypervisers; not ovn_control_plane
_GROUPS_SHOWN = 10
_CENTRAL_ADVICE = " Put the hosts of the databases in ovn_central. If they are in another inventory, set ovn_central_elsewhere: true in this one."


@dataclasses.dataclass(frozen=True)
class Needs:
    """What a playbook needs of the inventory and of the run.

    `report_required`: true if it is about the report, false if it makes one unless --limit leaves out what that needs, None if it makes none.
    """

    known_tags: t.Sequence[str] | None = None
    report_required: bool | None = None
    changes_central: bool = False
    hypervisors_required: bool = False
    controllers_required: bool = False
    localhost_required: bool = False


def inventory_problems(
    needs: Needs, hostvars: Hostvars, groups: Groups, variables: Variables, specification: Specification
) -> list[str]:
    """Return why a run cannot begin, a text for each problem. `variables` are those of the task, with what Ansible says of the run."""
    central = members_of(groups, "ovn_central")
    elsewhere = is_true(variables, "ovn_central_elsewhere")
    central_problem = "" if central else group_problem(groups, "ovn_central", required=not elsewhere)
    hypervisors = group_problem(groups, "ovn_hypervisors", required=needs.hypervisors_required)
    controllers = group_problem(groups, "ovn_controllers", required=needs.controllers_required)
    scope = limit_of_run(needs, central, variables)
    problems = [
        central_problem + ("" if elsewhere or not central_problem else _CENTRAL_ADVICE),
        hypervisors and f"{hypervisors} Put the machines that run ovn-controller in ovn_hypervisors.",
        controllers and f"{controllers} Put the hosts of Neutron in ovn_controllers.",
        options_problem(members_of(groups, "all"), hostvars, specification),
        foreign_central_problem(central, hostvars, needs.changes_central) if central else "",
        skipped_tags_problem(variables.get("ansible_skip_tags") or ()),
        run_tags_problem(variables.get("ansible_run_tags") or ("all",), needs.known_tags),
        scope["refusal"] if needs.report_required or needs.localhost_required else "",
    ]
    return [problem for problem in problems if problem]


def limit_of_run(needs: Needs, central: t.Sequence[str], variables: Variables) -> dict[str, str]:
    """Return why --limit permits no report, as `refusal` and as `note`; where a playbook needs only localhost, the central hosts do not matter."""
    hosts = variables.get("ansible_play_hosts_all") or ()
    return limit_problem(hosts, [] if needs.localhost_required else central, str(variables.get("ansible_limit") or ""))


def group_problem(groups: Groups, name: str, *, required: bool) -> str:
    """Return what is wrong with a group and what the inventory has instead. If it is not required, only a group with a similar name is a problem."""
    if groups.get(name):
        return ""
    others = [other for other, hosts in groups.items() if hosts and other not in _OF_ANSIBLE | _OURS]
    similar = difflib.get_close_matches(name, others, 1, _SIMILAR)
    if not required and not similar:
        return ""
    found = "has no hosts" if name in groups else "is not in the inventory"
    verb = "has" if name in groups else "is"
    spelling = f", but {similar[0]} {verb}: check the spelling" if similar else ""
    return f"The group {name} {found}{spelling}. {_listed(groups)}"


def _listed(groups: Groups) -> str:
    own = [f"{name} ({len(hosts)} hosts)" for name, hosts in sorted(groups.items()) if name not in _OF_ANSIBLE]
    more = [f"{len(own) - _GROUPS_SHOWN} more"] if len(own) > _GROUPS_SHOWN else []
    if own:
        return f"The inventory has the groups {', '.join([*own[:_GROUPS_SHOWN], *more])}."
    hosts = len(groups.get("all") or ())
    return f"The inventory has no groups and {hosts} hosts." if hosts else "The inventory is empty: is -i missing?"


def options_problem(hosts: t.Sequence[str], hostvars: Hostvars, specification: Specification) -> str:
    """Return which options of these hosts have a value that is not allowed: it would fail later, with the whole specification of its role."""
    return option_problem(hosts, {host: _readable(hostvars[host], specification) for host in hosts}, specification)


def _readable(variables: Variables, names: t.Collection[str]) -> Variables:
    """Return these variables of a host as far as they can be read now: a template may name what only a later task finds."""
    found = {}
    for name in {*names} & set(variables):
        with contextlib.suppress(Exception):  # templates raise many classes, and each version of Ansible has others
            value = plain(variables[name])
            json.dumps(value, default=str)  # from ansible-core 2.19 on this fails, and not the line before
            if name not in SHARED or value not in ("", None):  # an empty shared variable is absent
                found[name] = value
    return found


def limit_problem(hosts: t.Iterable[str], central: t.Sequence[str], limit: str = "") -> dict[str, str]:
    """Return why no report can be made: as `refusal` of a run that is about the report, as `note` at the end of another one. Both are empty if it can be.

    `hosts` are those of a play on localhost and all others, without the ones that `limit` leaves out.
    """
    present = set(hosts)
    if limit and central and not present & set(central):
        cause = f"--limit '{limit}' leaves out all central hosts"
        return {
            "refusal": f"There is nothing to report: {cause}. Run it without --limit.",
            "note": f"Not verified: {cause}. Run c5c3.ovn.verify without --limit.",
        }
    if limit and not present & _LOCALHOST:
        cause = f"the output comes from localhost, which --limit '{limit}' leaves out"
        return {
            "refusal": f"Nothing would be printed: {cause}. Use --limit '{limit},localhost'.",
            "note": f"Not verified: {cause}. Run c5c3.ovn.verify without --limit.",
        }
    return {"refusal": "", "note": ""}


def run_tags_problem(run_tags: t.Sequence[str], known: t.Sequence[str] | None = None) -> str:
    """Return why a run with these tags would do nothing, an empty text if it does something. `known` are the tags of its playbook, None if they are unknown."""
    if known is None or set(run_tags) & (_TAGS_OF_ANSIBLE | set(known)):
        return ""
    given = f"--tags {','.join(sorted(run_tags))} would do nothing"  # Ansible keeps them in no order
    wrapped = "If a playbook of yours imports this one, list all of its tags in ovn_verify_known_tags."
    if not known:
        return f"{given}: this playbook has no tags. Run it without --tags. {wrapped}"
    return f"{given}: this playbook has none of these tags. Use one or more of {', '.join(known)}. {wrapped}"


def skipped_tags_problem(skipped: t.Collection[str]) -> str:
    """Return why a run must not skip these tags. Ansible skips a task that has any of them, and what several tags need has all of them."""
    found = [tag for tag in _SHARED_TAGS if tag in skipped]
    if not found:
        return ""
    return (
        f"--skip-tags {','.join(found)} would leave out the whole rollout. Name what is to be done with --tags instead; "
        "only precheck and verify can be skipped."
    )
