# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes may still use a certificate of a CA that is to be retired. The certificate is on the node alone, but its pod names the CA that it was started
for, and is not ready before the node has a certificate of that one. Pure.
"""

from __future__ import annotations

import json
import typing as t

from .._api.names import selector
from .._base.databases import DATABASES, Database
from .._base.errors import InvalidInput, Refused
from .._base.tls_options import certificates_of
from .._kubernetes.rollout_progress import generation_observed, is_ready, is_terminating
from .._manifests.ca_bundle import FOLDER_VARIABLE, ISSUER_VARIABLE, environment_of, environment_of_pod
from .._pki.issuing import AuthorityName
from .authorities import AUTHORITIES, Files, given_authority, rotated_authorities
from .endpoints import Listener, endpoints_of
from .variables import Hostvars, Variables, first_value

# The playbook rotate: which phases are left, and what each listener has to serve between them. Pure.

PHASES = ("prepare", "switch", "finish")


def rotation_plan(
    note: str, files: t.Mapping[str, Files], rotates: t.Any, *, has_clients: bool, check_mode: bool = False
) -> dict[str, t.Any]:
    """Return the `phases` of this run, and the CAs that they are for (`rotate`).

    `note` is what the last run has recorded (JSON), empty if it came to its end; `files` are the PEM texts of both CAs, `rotates` the option ovn_pki_rotate.
    Clients that are no hosts have to be supplied by their operator after each phase, so with them a run has one phase; check mode can predict only the next.
    `InvalidInput`: the option names other CAs than the rotation that is under way.
    """
    recorded = json.loads(note) if note.strip() else {}
    desired = rotated_authorities(recorded.get("rotate") or rotates)
    given = rotated_authorities(rotates)
    if recorded and rotates not in (None, "") and given != desired and given != rotated_authorities(None):
        raise InvalidInput(
            f"A rotation of {' and '.join(desired)} is under way, ovn_pki_rotate is {','.join(given)}. Leave the option out until that rotation is finished."
        )
    first = recorded.get("phase") or _phase_of(files, desired)
    left = list(PHASES[PHASES.index(first) :])
    return {"phases": left[:1] if has_clients or check_mode else left, "rotate": desired, "last": len(left) == 1}


def check_rotation(
    left_out: t.Sequence[str], rotation: str, rotates: t.Any, files: t.Mapping[str, Files], variables: Variables
) -> None:
    """Refuse a rotation without all hosts, in a phase that somebody chooses, or of CAs that only their owner can move: those in variables.

    `left_out` are hosts that are not part of the run, `variables` the options of the role.
    """
    if left_out:
        raise Refused(
            f"The CAs are not rotated, because {', '.join(left_out)} are not part of this run (--limit, or unreachable). Each of them has to trust the next "
            "CA before one certificate changes. Run for all hosts. Nothing was changed."
        )
    if rotation != "none":
        raise Refused(
            f"The CAs are not rotated: ovn_pki_ca_rotation is {rotation}, and this playbook runs all three phases. Leave the option out, or run c5c3.ovn.site "
            "with it. Nothing was changed."
        )
    names = rotated_authorities(rotates)
    if not names:
        return
    ours = {
        name: bool(files[name].get("active"))
        and not str(given_authority(variables, name).get("certificate") or "").strip()
        for name in AUTHORITIES
    }
    if not (ours["central"] or ("central" not in names and ours["chassis"])):
        raise Refused(
            f"The CAs are not rotated: {' and '.join(names)} would have to be in {first_value(variables, 'ovn_pki_ca_directory')}, and are not there, or are "
            "given in variables. Name the directory in ovn_pki_ca_directory; replace a given CA in three runs, see the README of the role ovn_pki, and the "
            "chassis CA alone with ovn_pki_rotate=chassis. Nothing was changed."
        )


def phase_note(phase: str, rotate: t.Sequence[str]) -> str:
    """Return what is recorded of the phase that is under way."""
    return json.dumps({"phase": phase, "rotate": list(rotate)})


def next_note(phase: str, rotate: t.Sequence[str]) -> str:
    """Return what is recorded once a phase is done and verified, which is not repeated; empty after the last one."""
    return "" if phase == PHASES[-1] else phase_note(PHASES[PHASES.index(phase) + 1], rotate)


def remaining_message(phase: str, clients_directory: str) -> str:
    """Return what the operator has to do before the next phase."""
    brought = "ca.pem" if phase == "prepare" else "ca.pem, key and certificate"
    return (
        f"{phase} is done. Bring {brought} from {clients_directory} to the clients of ovn_pki_clients (c5c3.ovn.neutron does so for Neutron and its metadata "
        "agents), then run c5c3.ovn.rotate again."
    )


def _phase_of(files: t.Mapping[str, Files], rotates: t.Iterable[AuthorityName]) -> str:
    """Return the phase in which somebody has left the files, by phases of their own."""
    if any(files[name].get("next") for name in rotates):
        return "prepare"
    return "switch" if any(files[name].get("previous") for name in rotates) else "prepare"


def expected_listeners(serials: t.Mapping[str, str], hostvars: Hostvars, access: AuthorityName) -> dict[str, str]:
    """Return the endpoints that a certificate opens, each with the serial number that it serves, empty if that is not known.

    `serials` go from central machines to the serial numbers of their certificates. `access` chassis is port 6642 alone.
    """
    listeners: tuple[Listener, ...] = ("unrestricted", "client", "raft") if access == "central" else ("client",)
    databases: t.Iterable[Database] = DATABASES if access == "central" else ("southbound",)
    return {
        endpoint: serials[host]
        for database in databases
        for listener in listeners
        for host in serials
        for endpoint in endpoints_of([host], hostvars, database, listener, tls=True)
    }


_INSTANCE = "app.kubernetes.io/instance"
_CONTROLLER = {key: value for key, value in selector("", "controller").items() if key != _INSTANCE}


def former_nodes(listings: t.Iterable[Variables], accepted: str) -> list[str]:
    """Return the pods and DaemonSets of ovn-controller whose nodes may have a certificate of another CA than those in `accepted` (PEM), each with the reason.

    `listings` are results of `k8s_info` for both kinds. Pods of nodes that share a certificate do not count: theirs is in a Secret.
    """
    found = [one for listing in listings for one in listing.get("resources") or () if _is_controller(one)]
    reasons = ((one, _reason(one, certificates_of(accepted))) for one in found)
    return [
        f"{one['kind']} {one['metadata']['namespace']}/{one['metadata']['name']}{_on_node(one)} {reason}"
        for one, reason in reasons
        if reason
    ]


def _is_controller(one: Variables) -> bool:
    labels = one["metadata"].get("labels") or {}
    return all(labels.get(key) == value for key, value in _CONTROLLER.items())


def _on_node(one: Variables) -> str:
    node = one["spec"].get("nodeName")
    return f" on node {node}" if node else ""


def _reason(one: Variables, accepted: t.Collection[str]) -> str:
    is_pod = one["kind"] == "Pod"
    status = one.get("status") or {}
    if is_pod and status.get("phase") in ("Succeeded", "Failed"):
        return ""
    variables = environment_of_pod(one["spec"]) if is_pod else environment_of(dict(one))
    if FOLDER_VARIABLE not in variables:
        return ""
    issuer = certificates_of(variables.get(ISSUER_VARIABLE, ""))
    if not issuer:
        return "does not name the CA that signs"
    if not issuer <= set(accepted):
        return "has another CA"
    if not is_pod:
        return _rollout(one, status)
    if is_terminating(dict(one)):
        return "is terminating"
    return "" if is_ready(one) else "is not ready"


def _rollout(daemon_set: Variables, status: Variables) -> str:
    """A node that the pods do not tolerate any more is not counted as one that should have a pod, but its ovn-controller may run."""
    if not generation_observed(daemon_set):
        return "was not observed by its controller yet"
    desired = status.get("desiredNumberScheduled", 0)
    done = min(status.get(number, 0) for number in ("updatedNumberScheduled", "numberReady"))
    if done < desired:
        return f"is rolled out on {done} of {desired} nodes"
    astray = status.get("numberMisscheduled", 0)
    return f"has pods on {astray} nodes that should have none" if astray else ""
