#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_raft_status
short_description: Verified state of a Northbound or Southbound Raft cluster
version_added: "0.1.0"
description:
  - Asks members of one Raft cluster at the same time and returns one verdict about the cluster, with the reasons.
  - A member's own word never counts as the state of the cluster. An isolated leader calls itself leader for several seconds, a restarted member
    calls itself a cluster member without any quorum, and two clusters made by mistake both look healthy to themselves.
  - A bad verdict is a result, not a failure. The task fails only when O(wait_for) was not reached in time, or when its options can never work.
  - Members that hang or are dead cost one O(timeout), not one each.
  - Only a control socket shows term, member list, lag and election timer, and only locally. OVSDB endpoints can be asked from anywhere and tell
    cluster id, leader and whether a member takes part. Both kinds may be given; what is learned about the same member is put together.
  - To judge a whole cluster from the control sockets of several hosts, run the task on each of them and
    bring the results together with P(c5c3.ovn.raft_verdict#filter).
  - Of a control plane in Kubernetes every pod is asked through its own sockets by a command in it, so one task on the control node has the full view.
    That needs the Python library C(kubernetes) there and the right to list pods, to read the record and to execute commands in pods.
extends_documentation_fragment:
  - c5c3.ovn._attributes
  - c5c3.ovn._attributes.action_groups
  - c5c3.ovn._attributes.info_module
  - c5c3.ovn._kubernetes_auth
  - c5c3.ovn._ovn_cluster
  - c5c3.ovn._ovsdb
attributes:
  platform:
    support: full
    platforms: posix
options:
  database:
    description: The database.
    type: str
    choices: [northbound, southbound]
    required: true
  control_sockets:
    description:
      - Control sockets (unixctl) of C(ovsdb-server) processes on the managed host.
      - By default the distribution's socket, C(/run/ovn/ovnnb_db.ctl) or C(/run/ovn/ovnsb_db.ctl), unless O(endpoints) or O(cluster) is given.
      - The database socket beside each (same name, ending in C(.sock)) is asked as well when it exists.
    type: list
    elements: path
  endpoints:
    description:
      - OVSDB endpoints of the members, C(ssl:HOST:PORT), C(tcp:HOST:PORT) or C(unix:FILE); IPv6 addresses in brackets. An item may be a comma list.
      - The members are named by their host in the results.
    type: list
    elements: str
  member:
    description:
      - What the member behind a single control socket is called in the results, for example C({{ inventory_hostname }}).
      - By default the host's own name. Several control sockets are named by their paths.
    type: str
  expected_members:
    description:
      - How many members the cluster should have. Without it a cluster that lost a member by a removal cannot be distinguished from a smaller one.
      - With O(cluster) the default is what the state record says.
    type: int
  expected_cluster_id:
    description:
      - Cluster id (UUID) that the members should have. Any other is the verdict V(split).
      - With O(cluster) the default is what the state record says.
    type: str
  certificate_days:
    description:
      - Served certificates that expire in fewer days than this are in RV(reasons).
    type: int
    default: 14
  contents:
    description:
      - Whether members are compared by what they hold, too. A member that came back with an old copy of its file may hold other data than the rest
        although its state and that of the whole cluster look healthy; only this finds out.
      - Every row of every table is read from each member that takes part, at the same time, and a digest is computed for each table. Members count as
        different only if their log index is equal and did not change while they were read. What cannot be compared is reported as V(not_compared).
      - While a server answers with a large table it does nothing else, as when a client connects that monitors all of it.
      - Of a control plane in Kubernetes the digests are computed in the pods. Cannot be combined with O(wait_for).
    type: bool
    default: false
  contents_timeout:
    description:
      - How long O(contents) may take, in seconds. 100 000 rows need a few seconds of one processor.
    type: float
    default: 60
  timeout:
    description:
      - How long to wait for answers, in seconds. It is the time for each member, and all are asked at the same time.
      - A command in a pod gets ten seconds at least. Pods on nodes that no longer report to the API server are not asked, if nodes may be listed.
    type: float
    default: 3
  wait_for:
    description:
      - Ask again until the cluster can be written to (V(quorum)) or nothing is wrong with it (V(healthy)).
      - Nothing announces a change of a Raft cluster, so this polls in growing intervals from 0.1 to 1 second.
    type: str
    choices: [none, quorum, healthy]
    default: none
  wait_timeout:
    description:
      - How long O(wait_for) waits, in seconds; the last answer may come a few seconds later. For an election allow three election timers and two seconds.
    type: float
    default: 30
seealso:
  - plugin: c5c3.ovn.raft_verdict
    plugin_type: filter
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Ask the member on this host
  c5c3.ovn.ovn_raft_status:
    database: southbound

- name: Ask every member from anywhere
  c5c3.ovn.ovn_raft_status:
    database: southbound
    endpoints:
      - ssl:192.0.2.11:6642
      - ssl:192.0.2.12:6642
      - ssl:192.0.2.13:6642
    private_key: /etc/ovn/tls/central-key.pem
    certificate: /etc/ovn/tls/central-cert.pem
    ca_certificate: /etc/ovn/tls/ca.pem
    expected_members: 3
  register: southbound

- name: Stop here unless nothing is wrong
  ansible.builtin.assert:
    that: southbound.healthy
    fail_msg: "{{ southbound.reasons | map(attribute='message') | join(' ') }}"

- name: Wait until the database can be written to again
  c5c3.ovn.ovn_raft_status:
    database: northbound
    endpoints: ssl:192.0.2.11:6641,ssl:192.0.2.12:6641,ssl:192.0.2.13:6641
    private_key: /etc/ovn/tls/central-key.pem
    certificate: /etc/ovn/tls/central-cert.pem
    ca_certificate: /etc/ovn/tls/ca.pem
    wait_for: quorum
    wait_timeout: 60

- name: Ask every pod of a control plane in Kubernetes
  c5c3.ovn.ovn_raft_status:
    database: southbound
    cluster: ovn
    namespace: ovn-system
    kubeconfig: ~/.kube/config
    context: control-plane
    wait_for: healthy
    wait_timeout: 120
  delegate_to: localhost

- name: Compare what the members hold
  c5c3.ovn.ovn_raft_status:
    database: northbound
    endpoints: ssl:192.0.2.11:6641,ssl:192.0.2.12:6641,ssl:192.0.2.13:6641
    private_key: /etc/ovn/tls/central-key.pem
    certificate: /etc/ovn/tls/central-cert.pem
    ca_certificate: /etc/ovn/tls/ca.pem
    contents: true
  register: northbound
  failed_when: northbound.verdict == 'diverged'

# The full view: every host asks its own control socket, one host judges.
- name: Ask each member on its own host
  c5c3.ovn.ovn_raft_status:
    database: northbound
    member: "{{ inventory_hostname }}"
  register: northbound

- name: Show the verdict about the whole cluster
  ansible.builtin.debug:
    msg: "{{ dict(ansible_play_hosts_all | zip(ansible_play_hosts_all | map('extract', hostvars, 'northbound')))
             | c5c3.ovn.raft_verdict(expected_members=3) }}"
  run_once: true
"""

RETURN = r"""
verdict:
  description:
    - V(healthy), one leader, every member takes part and is caught up.
    - V(degraded), the database can be written to, but a member is missing, lagging, unknown or differs.
    - V(no_quorum), nothing can be written. Members that answer still serve old data to raw reads, see RV(raw_read_only).
    - V(split), members answer for different clusters, or two of them lead in the same term.
    - V(diverged), members hold different data at the same log index. Only with O(contents).
    - V(forming), nothing is wrong except that members are still joining.
    - V(unreachable), no member of a cluster answered.
  returned: always
  type: str
  sample: degraded
healthy:
  description: Whether the verdict is V(healthy).
  returned: always
  type: bool
  sample: false
writable:
  description:
    - Whether a majority with a leader takes writes, as far as the answers prove it.
    - Always V(false) in a split, because no client should write then.
  returned: always
  type: bool
  sample: true
raw_read_only:
  description: Whether the members that are left serve (possibly old) data to raw reads such as C(ovsdb-client dump) only.
  returned: always
  type: bool
  sample: false
reasons:
  description: Why the verdict is what it is. A V(problem) spoils RV(healthy), a V(warning) does not.
  returned: always
  type: list
  elements: dict
  contains:
    code:
      description:
        - No answer - V(unreachable), V(timeout), V(certificate), V(refused), V(bad_answer), V(no_database), V(not_clustered), V(error).
        - The cluster - V(two_clusters), V(foreign_cluster), V(two_leaders), V(stale_leader), V(no_quorum), V(no_leader), V(writes_blocked),
          V(member_count), V(even_members), V(ghost), V(duplicate_address), V(duplicate_server_id), V(uncommitted), V(election_timer_changing), V(diverged).
        - One member - V(member_missing), V(disconnected), V(unheard), V(not_listed), V(joining), V(leaving), V(lagging), V(wrong_name), V(one_way),
          V(lost_writes),
          V(election_timer_differs), V(certificate_expires), V(unknown_status).
        - A fault of the version of Open vSwitch - V(fault_join), V(fault_leave), V(fault_pre_vote), V(fault_wrong_peer),
          V(fault_transfer), V(fault_single_member).
        - What is unknown - V(partial_view), V(size_unknown), V(not_compared).
      type: str
      returned: always
      sample: lagging
    member:
      description: The member it is about, by its name or else its Raft address; empty if it is about the cluster.
      type: str
      returned: always
      sample: central3
    message:
      description: What was observed and what to do.
      type: str
      returned: always
      sample: central3 is 412 log entries behind the leader. Check for a full disk or a slow network before anything is restarted.
    severity:
      description: V(problem) or V(warning).
      type: str
      returned: always
      sample: problem
    fixed_in:
      description: The release of Open vSwitch without the fault that the warning is about; empty for everything else.
      type: str
      returned: always
      sample: ""
cluster_id:
  description: Cluster id (UUID) of the members that answered; empty if unknown.
  returned: always
  type: str
  sample: a0b739a1-2c38-479b-9e0d-605e9da30330
leader:
  description: Name of the leader, or its Raft address if only others heard it; empty if there is none.
  returned: always
  type: str
  sample: central1
term:
  description: The highest Raft term among the members; empty if no control socket was asked.
  returned: always
  type: int
  sample: 7
election_timer:
  description: Election timer in milliseconds; empty if no control socket was asked.
  returned: always
  type: int
  sample: 4000
members:
  description:
    - The members in the leader's list, then those that were asked and are not in it. What a source did not give is empty.
  returned: always
  type: list
  elements: dict
  contains:
    member:
      description: Name, host or socket that was asked; the Raft address of a member that was not asked.
      type: str
      returned: always
      sample: central2
    address:
      description: Raft address.
      type: str
      returned: always
      sample: ssl:192.0.2.12:6644
    server_id:
      description: Server id (UUID), or its first four digits if the member did not answer.
      type: str
      returned: always
      sample: cdfb3fa1-d7ad-46fd-a7ad-918fd58ad205
    cluster_id:
      description: Cluster id that this member names.
      type: str
      returned: always
      sample: a0b739a1-2c38-479b-9e0d-605e9da30330
    reachable:
      description: Whether it answered.
      type: bool
      returned: always
      sample: true
    listed:
      description: Whether it is in the member list.
      type: bool
      returned: always
      sample: true
    role:
      description: V(leader), V(follower) or V(candidate), as the server reports it.
      type: str
      returned: always
      sample: follower
    status:
      description: Its own status line, for example V(cluster member) or V(joining cluster).
      type: str
      returned: always
      sample: cluster member
    connected:
      description: Whether it says that it takes part in the cluster.
      type: bool
      returned: always
      sample: true
    term:
      description: Its Raft term.
      type: int
      returned: always
      sample: 7
    leader:
      description: First four digits of the server id that it takes for the leader.
      type: str
      returned: always
      sample: 81d3
    vote:
      description: Whom it voted for in this term, four digits, V(self) or V(unknown).
      type: str
      returned: always
      sample: unknown
    election_timer:
      description: Its election timer in milliseconds.
      type: int
      returned: always
      sample: 4000
    log_start:
      description: First entry that its log still holds after the snapshot.
      type: int
      returned: always
      sample: 2
    log_next:
      description: Index of the next entry of its log.
      type: int
      returned: always
      sample: 418
    not_committed:
      description: Entries of its log that are not committed yet.
      type: int
      returned: always
      sample: 0
    not_applied:
      description: Entries of its log that are not applied yet.
      type: int
      returned: always
      sample: 0
    index:
      description: Index that it has applied and shows to clients.
      type: int
      returned: always
      sample: 417
    match_index:
      description: Index up to which the leader knows that it has stored the log.
      type: int
      returned: always
      sample: 417
    lag:
      description: Log entries that it is behind the leader.
      type: int
      returned: always
      sample: 0
    last_message:
      description: How long ago the leader heard it, in milliseconds.
      type: int
      returned: always
      sample: 214
    incoming:
      description: Whether it is connected to the leader.
      type: bool
      returned: always
      sample: true
    outgoing:
      description: Whether the leader is connected to it.
      type: bool
      returned: always
      sample: true
    connections:
      description: Its own Raft connections as C(cluster/status) prints them; in parentheses if down.
      type: list
      elements: str
      returned: always
      sample: ["->81d3", "<-81d3", "(->ee2f)"]
    disconnections:
      description: How often its Raft connections broke since the process started.
      type: int
      returned: always
      sample: 1
    version:
      description: Its version of Open vSwitch.
      type: str
      returned: always
      sample: 3.5.0
    certificate_days:
      description: Days until the certificate ends that its endpoint serves.
      type: float
      returned: always
      sample: 211.4
    problems:
      description: Why it did not answer, or not everything.
      type: list
      elements: str
      returned: always
      sample: []
ghosts:
  description: Servers in the member list without a member. Each counts against the quorum.
  returned: always
  type: list
  elements: dict
  contains:
    server_id:
      description: First four digits of the server id.
      type: str
      returned: always
      sample: a46d
    address:
      description: Raft address.
      type: str
      returned: always
      sample: ssl:192.0.2.13:6644
    match_index:
      description: Last log entry that it has confirmed.
      type: int
      returned: always
      sample: 21
    last_message:
      description: How long ago the leader heard it, in milliseconds; empty if never.
      type: int
      returned: always
      sample: 15544
answers:
  description: What each asked place said, as plain data for P(c5c3.ovn.raft_verdict#filter). The form may change at any time.
  returned: always
  type: list
  elements: dict
  sample: []
"""

import os
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.databases import STEMS
from ..module_utils._base.errors import InvalidInput, OvnError
from ..module_utils._kubernetes.auth import AUTH_ARG_SPEC, hide_only_secrets
from ..module_utils._ovsdb.endpoint import parse_endpoints
from ..module_utils._ovsdb.tls_files import TlsFiles
from ..module_utils._raft.status import (
    Expected,
    Source,
    Status,
    await_verdict,
    check_options,
    examine,
    source_of_places,
)


def _control_sockets(params: dict[str, t.Any]) -> dict[str, str]:
    """Return member name to path."""
    paths = params["control_sockets"]
    if paths is None and not params["endpoints"]:
        paths = [f"/run/ovn/{STEMS[params['database']]}.ctl"]
    if len(paths or ()) == 1:
        return {params["member"] or os.uname().nodename: paths[0]}
    return {path: path for path in paths or ()}


def _source(params: dict[str, t.Any]) -> Source:
    """Return how the members are asked: by commands in their pods, or through sockets and endpoints."""
    if params["cluster"]:
        from ..module_utils._control_plane.pod_source import source_of_pods
        from ..module_utils._kubernetes.client import Cluster

        return source_of_pods(Cluster(params), params["namespace"], params["cluster"], params["database"])
    endpoints = parse_endpoints(params["endpoints"] or ())
    sockets = _control_sockets(params)
    if not endpoints and not sockets:
        raise InvalidInput("control_sockets and endpoints are empty: give at least one place to ask.")
    tls = TlsFiles(params["private_key"], params["certificate"], params["ca_certificate"])
    return source_of_places(params["database"], sockets, endpoints, tls)


def _status(params: dict[str, t.Any]) -> Status:
    source = _source(params)
    expected = Expected(params["expected_members"], params["expected_cluster_id"], params["certificate_days"])
    if params["wait_for"] == "none":
        return examine(source, expected, params["timeout"], params["contents_timeout"] if params["contents"] else None)
    return await_verdict(
        source,
        expected,
        params["timeout"],
        database=params["database"],
        wait_for=params["wait_for"],
        seconds=params["wait_timeout"],
    )


def _check(params: dict[str, t.Any]) -> None:
    limits = {option: params[option] for option in ("timeout", "wait_timeout", "contents_timeout")}
    check_options(params["expected_members"], **limits)
    if params["contents"] and params["wait_for"] != "none":
        raise InvalidInput("contents cannot be combined with wait_for: wait first, then compare what the members hold.")
    if params["member"] and len(params["control_sockets"] or ()) > 1:
        raise InvalidInput("member names one control socket, but several are given.")


def main() -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={
            **AUTH_ARG_SPEC,
            "database": {"type": "str", "choices": ["northbound", "southbound"], "required": True},
            "cluster": {"type": "str"},
            "namespace": {"type": "str", "default": "ovn-system"},
            "control_sockets": {"type": "list", "elements": "path"},
            "endpoints": {"type": "list", "elements": "str"},
            "member": {"type": "str"},
            "expected_members": {"type": "int"},
            "expected_cluster_id": {"type": "str"},
            "certificate_days": {"type": "int", "default": 14},
            "contents": {"type": "bool", "default": False},
            "contents_timeout": {"type": "float", "default": 60},
            "timeout": {"type": "float", "default": 3},
            "wait_for": {"type": "str", "choices": ["none", "quorum", "healthy"], "default": "none"},
            "wait_timeout": {"type": "float", "default": 30},
            "private_key": {"type": "path"},
            "certificate": {"type": "path"},
            "ca_certificate": {"type": "path"},
        },
        mutually_exclusive=[("cluster", "control_sockets"), ("cluster", "endpoints"), ("cluster", "member")],
        required_together=[("private_key", "certificate", "ca_certificate")],
        supports_check_mode=True,
    )
    p = module.params
    hide_only_secrets(module)
    try:
        _check(p)
        result = _status(p).as_dict()
    except OvnError as e:
        module.fail_json(**e.as_result())
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
