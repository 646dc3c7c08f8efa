# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: raft_verdict
short_description: Bring the answers of several hosts together in one verdict about a Raft cluster
version_added: "0.1.0"
description:
  - Each host asks its own member with M(c5c3.ovn.ovn_raft_status), this filter judges what they all said.
  - Whatever was learned about the same member in several ways, through control socket and endpoint for example, is put together.
positional: expected_members, expected_cluster_id
options:
  _input:
    description:
      - Results of M(c5c3.ovn.ovn_raft_status), either a list, or a dictionary from the name of the host to its result.
      - A host that could not be asked is a text with its name in the list. In a dictionary it is any entry without answers, for example a result of an
        unreachable host.
    type: raw
    required: true
  expected_members:
    description: How many members the cluster should have.
    type: int
  expected_cluster_id:
    description: Cluster id (UUID) that the members should have.
    type: str
  certificate_days:
    description: Served certificates that expire in fewer days than this are listed in C(reasons).
    type: int
    default: 14
author:
  - C5C3 contributors (@c5c3)
seealso:
  - module: c5c3.ovn.ovn_raft_status
"""

EXAMPLES = r"""
- name: Ask each member on its own host
  c5c3.ovn.ovn_raft_status:
    database: southbound
    member: "{{ inventory_hostname }}"
  register: southbound
  ignore_unreachable: true

- name: Judge all of them
  ansible.builtin.assert:
    that: verdict.healthy
    fail_msg: "{{ verdict.verdict }}: {{ verdict.reasons | map(attribute='message') | join(' ') }}"
  vars:
    hosts: "{{ groups['ovn_central'] }}"
    verdict: "{{ dict(hosts | zip(hosts | map('extract', hostvars, 'southbound'))) | c5c3.ovn.raft_verdict(hosts | length) }}"
  run_once: true

- name: A list works, too, with names in place of the hosts that could not be asked
  ansible.builtin.debug:
    msg: "{{ [hostvars['central1'].southbound, hostvars['central2'].southbound, 'central3'] | c5c3.ovn.raft_verdict(expected_members=3) }}"
"""

RETURN = r"""
_value:
  description: >-
    The return values of M(c5c3.ovn.ovn_raft_status) from C(verdict) to C(ghosts), without C(answers).
  type: dict
  sample:
    verdict: healthy
    healthy: true
    writable: true
    raw_read_only: false
    reasons: []
    cluster_id: a0b739a1-2c38-479b-9e0d-605e9da30330
    leader: central1
    term: 7
    election_timer: 1000
    members: []
    ghosts: []
"""

import typing as t
from collections.abc import Iterable, Mapping

from ansible.errors import AnsibleFilterError

from ..module_utils._base.errors import OvnError
from ..module_utils._raft.answer import Answer, failed_answer
from ..module_utils._raft.verdict import CERTIFICATE_DAYS, assess


def _answers_of(name: str | None, result: t.Any) -> list[Answer]:
    """The answers in one result; a host that could not be asked is a silent member."""
    if isinstance(result, Mapping) and isinstance(result.get("answers"), list):
        return [Answer.from_dict(data) for data in result["answers"]]
    if isinstance(result, str):
        return [failed_answer(result, "", "unreachable", f"{result} could not be asked.")]
    if name is None:
        raise AnsibleFilterError(
            "raft_verdict expects results of c5c3.ovn.ovn_raft_status or names of hosts that could not be asked. "
            f"This is neither: {str(result)[:200]}. Use a dictionary from host to result to tell which host it is."
        )
    words = result.get("msg") if isinstance(result, Mapping) else None
    return [failed_answer(name, "", "unreachable", f"{name} could not be asked{f': {words}' if words else ''}.")]


def _same_database(answers: list[Answer]) -> list[Answer]:
    """All answers must be about one database; a host that was not reached does not know which."""
    databases = {answer.database for answer in answers if answer.database}
    if len(databases) > 1:
        raise AnsibleFilterError(
            f"raft_verdict judges one database, but these results are about {' and '.join(sorted(databases))}."
        )
    database = next(iter(databases), "")
    return [answer if answer.database else _silent_in(database, answer) for answer in answers]


def _silent_in(database: str, answer: Answer) -> Answer:
    return failed_answer(answer.member, database, answer.problems[0].code, answer.problems[0].message)


def raft_verdict(
    results: t.Any,
    expected_members: int | None = None,
    expected_cluster_id: str | None = None,
    certificate_days: float = CERTIFICATE_DAYS,
) -> dict[str, t.Any]:
    if isinstance(results, Mapping):
        pairs: list[tuple[str | None, t.Any]] = [(str(name), result) for name, result in results.items()]
    elif isinstance(results, Iterable) and not isinstance(results, str):
        pairs = [(None, result) for result in results]
    else:
        raise AnsibleFilterError(
            f"raft_verdict expects a list or a dictionary of results, not {type(results).__name__}."
        )
    try:
        answers = _same_database([answer for name, result in pairs for answer in _answers_of(name, result)])
        verdict = assess(
            answers,
            int(expected_members) if expected_members is not None else None,
            expected_cluster_id or None,
            certificate_days=certificate_days,
        )
    except (OvnError, ValueError) as e:
        raise AnsibleFilterError(f"raft_verdict: {e}") from e
    return verdict.as_dict()


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"raft_verdict": raft_verdict}
