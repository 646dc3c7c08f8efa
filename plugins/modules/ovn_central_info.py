#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_central_info
short_description: (internal) Read the state of northd, versions and certificates of a central host
version_added: "0.1.0"
description:
  - Asks the daemons of one central host through their control sockets, and reads the certificates that its ports serve.
  - What does not answer is a result with its reason, not a failure. Everything is asked at the same time, with O(raft) the members of both databases, too.
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
  run_directory:
    description: Where the daemons have their sockets.
    type: path
    default: /run/ovn
  northd_control_socket:
    description:
      - Control socket of northd. The default is C(ovn-northd.ctl) in O(run_directory). If it does not exist, the one that C(ovn-northd.pid) there leads to,
        as C(ovn-ctl) starts northd.
    type: path
  endpoints:
    description: Ports of this host whose certificates are read, C(ssl:HOST:PORT), IPv6 in brackets. Other endpoints are only tried.
    type: list
    elements: str
    default: []
  addresses:
    description: Ports of all hosts, as clients connect to them. They are asked like O(endpoints), and each port once, but answer in RV(addresses).
    type: list
    elements: str
    default: []
  timeout:
    description: Time for each daemon and port, in seconds. All are asked at the same time.
    type: float
    default: 5
  wait_timeout:
    description:
      - How long a northd that runs may take to reach both databases, in seconds. V(0) does not wait.
      - A northd that lost a connection tries again every 8 seconds at most. Not reaching them is a result, not a failure.
    type: float
    default: 0
  raft:
    description:
      - Asks the members of the Raft clusters on this host, or with O(cluster) those in its pods, as M(c5c3.ovn.ovn_raft_status) does.
      - V({}) asks both databases.
    type: dict
    suboptions:
      databases:
        description: The databases whose members are asked.
        type: list
        elements: str
        choices: [northbound, southbound]
        default: [northbound, southbound]
      member:
        description: What the members of this host are called in the results, by default the host's own name. Not with O(cluster), where pods have names.
        type: str
      expected_members:
        description: How many members each cluster should have. With O(cluster) the default is what the state record says.
        type: int
      contents:
        description: Whether everything is read that the members hold, so that members can be compared.
        type: bool
        default: false
      contents_timeout:
        description: How long O(raft.contents) may take for each database, in seconds. Both are read at the same time.
        type: float
        default: 60
      endpoints:
        description:
          - Endpoints of a control plane that others run, asked for a database whose control socket is not in O(run_directory). Not with O(cluster).
        type: dict
        suboptions:
          northbound:
            description: Endpoints of the Northbound database, C(ssl:HOST:PORT) or C(tcp:HOST:PORT), best of all its members.
            type: list
            elements: str
            default: []
          southbound:
            description: The same for the Southbound database.
            type: list
            elements: str
            default: []
      only_endpoints:
        description: Asks O(raft.endpoints) alone, and nothing of this host, whatever sockets it has.
        type: bool
        default: false
  record_directory:
    description: Where the state records of this collection are. Whether there are any is told in RV(recorded); without this option it is not looked for.
    type: path
  tls_secret:
    description:
      - Secret in O(namespace) with C(tls.key), C(tls.crt) and C(ca.crt), in place of O(private_key), O(certificate) and O(ca_certificate), which are then
        not read. Needs O(cluster).
      - They are files on the control node for as long as the module runs. Without such a Secret, or without the right to read it, ports with TLS tell why
        they cannot be asked.
    type: str
  ca_config_map:
    description: ConfigMap in O(namespace) with the CAs to trust, in place of C(ca.crt) in O(tls_secret), without which it is not read. Needs O(cluster).
    type: dict
    suboptions:
      name:
        description: Name of the ConfigMap.
        type: str
        required: true
      key:
        description: Its key with the PEM texts of the CAs.
        type: str
        default: ca.crt
  heartbeat:
    description:
      - Sends a heartbeat after everything was read, as M(c5c3.ovn.ovn_sync) does, with the same files. Needs O(cluster).
      - That it cannot be sent is a result, not a failure.
    type: dict
    suboptions:
      northbound:
        description: Endpoints of the Northbound database as this module reaches them, C(ssl:HOST:PORT) or C(tcp:HOST:PORT).
        type: list
        elements: str
        required: true
      southbound:
        description: The same for the Southbound database.
        type: list
        elements: str
        required: true
      wait_for:
        description: As O(c5c3.ovn.ovn_sync#module:wait_for). In check mode V(none).
        type: str
        choices: [none, sb, hv]
        default: hv
      timeout:
        description: As O(c5c3.ovn.ovn_sync#module:timeout), in seconds.
        type: float
        default: 30
seealso:
  - module: c5c3.ovn.ovn_raft_status
  - module: c5c3.ovn.ovn_sync
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: State of northd, and days until a certificate ends
  c5c3.ovn.ovn_central_info:
    endpoints: ["ssl:192.0.2.11:6641", "ssl:192.0.2.11:6642"]
    private_key: /etc/ovn/tls/central-key.pem
    certificate: /etc/ovn/tls/central-cert.pem
    ca_certificate: /etc/ovn/tls/ca.pem
  register: central
  failed_when: central.northd.state == "paused"

- name: Everything about this host in one call, the state of its Raft members included
  c5c3.ovn.ovn_central_info:
    raft:
      member: "{{ inventory_hostname }}"
      expected_members: 3
  register: central
"""

RETURN = r"""
northd:
  description: The northd of this host.
  returned: success, without O(cluster)
  type: dict
  contains:
    state:
      description: One northd of an installation is V(active), the others are V(standby). A V(paused) one does not work until it is resumed.
      type: str
      choices: [active, standby, paused, unreachable]
      sample: active
    northbound_connected:
      description: Whether it is connected to the Northbound database, V(none) if it cannot be asked.
      type: bool
      sample: true
    southbound_connected:
      description: The same for the Southbound database.
      type: bool
      sample: true
    version:
      description: Version of OVN.
      type: str
      sample: 23.03.1
    present:
      description: Whether its control socket exists.
      type: bool
      sample: true
    reason:
      description: Why it cannot be asked, otherwise empty.
      type: str
      sample: ""
northds:
  description: Every northd pod with what RV(northd) has about a single one.
  returned: success, with O(cluster)
  type: dict
  sample:
    ovn-northd-7d9c5f6b8-x2x5k: {"state": "active", "northbound_connected": true, "southbound_connected": true, "version": "24.03.4", "reason": ""}
databases:
  description: The database servers of this host, by V(northbound) and V(southbound).
  returned: success, without O(cluster)
  type: dict
  sample:
    northbound: {"version": "3.1.0", "schema_version": "7.0.0", "reason": ""}
    southbound: {"version": "3.1.0", "schema_version": "20.27.0", "reason": ""}
certificates:
  description: One entry for each of O(endpoints), in order.
  returned: success
  type: list
  elements: dict
  contains:
    endpoint:
      description: The port.
      type: str
      sample: ssl:192.0.2.11:6641
    subject:
      description: Common name in the certificate, V(none) without TLS.
      type: str
      sample: central1
    not_after:
      description: End of the certificate.
      type: str
      sample: Nov 21 16:00:00 2027 GMT
    days_left:
      description: Whole days until then.
      type: int
      sample: 364
    problem:
      description: Why the port could not be used; otherwise empty.
      type: str
      sample: ""
addresses:
  description: The same for each of O(addresses), in order; what is no endpoint comes last, with the reason in C(problem).
  returned: success
  type: list
  elements: dict
  sample: [{"endpoint": "ssl:192.0.2.12:6641", "subject": "central2", "not_after": "Nov 21 16:00:00 2027 GMT", "days_left": 364, "problem": ""}]
raft:
  description:
    - By V(northbound) and V(southbound), as far as O(raft.databases) has them, what M(c5c3.ovn.ovn_raft_status) returns.
    - A database that could not be asked has C(failed) and C(msg) instead; the others are there all the same.
  returned: success, with O(raft)
  type: dict
  sample:
    northbound: {"verdict": "degraded", "healthy": false, "writable": true}
    southbound: {"failed": true, "msg": "There is no southbound database of the OVNCluster ovn in namespace ovn-system: neither pods nor a state record."}
interconnection:
  description:
    - By V(northbound) and V(southbound) the state of the databases of OVN interconnection whose control sockets (C(ovn_ic_nb_db.ctl), C(ovn_ic_sb_db.ctl))
      are in O(run_directory), like RV(raft). Empty if there are none.
  returned: success, with O(raft), without O(cluster)
  type: dict
  sample: {"northbound": {"verdict": "healthy", "healthy": true, "writable": true}}
recorded:
  description: Whether this host has a state record of this collection.
  returned: success, with O(record_directory)
  type: bool
  sample: true
heartbeat:
  description: What M(c5c3.ovn.ovn_sync) returns; C(failed) and C(msg) if the heartbeat could not be sent.
  returned: success, with O(heartbeat)
  type: dict
  sample: {"nb_cfg": 17, "northd_alive": true, "sb_ms": 3.2, "hv_ms": 11.5, "alive_count": 2, "late": []}
"""

import contextlib
import functools
import time
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.databases import DATABASES, STEMS
from ..module_utils._base.deadline import Deadline
from ..module_utils._base.errors import InvalidInput, OvnError, Refused
from ..module_utils._daemons.central_host import ask_certificate, served_certificate
from ..module_utils._host.central_questions import CentralQuestions, Question, Sources, ask_members, is_recorded
from ..module_utils._kubernetes.auth import AUTH_ARG_SPEC, hide_only_secrets
from ..module_utils._ovsdb.endpoint import Endpoint, parse_endpoints
from ..module_utils._ovsdb.tls_files import TlsFiles
from ..module_utils._ovsdb.wire import ask_all
from ..module_utils._raft.status import Expected, check_options

if t.TYPE_CHECKING:
    from ..module_utils._kubernetes.client import Cluster

Params = dict[str, t.Any]


def questions_to_pods(cluster: Cluster, params: Params) -> tuple[dict[str, Question], Sources]:
    """Return the question to all northds of one OVNCluster, by its key in the result, and how its members are asked."""
    from ..module_utils._control_plane.ask_northd import ask_northds
    from ..module_utils._control_plane.pod_source import source_of_pods

    place = (params["namespace"], params["cluster"])
    questions: dict[str, Question] = {"northds": functools.partial(ask_northds, cluster, *place, params["timeout"])}
    return questions, functools.partial(source_of_pods, cluster, *place)


def parse_addresses(texts: t.Iterable[str]) -> tuple[list[Endpoint], list[dict[str, t.Any]]]:
    """Return the endpoints, and the answer for each text that is none: a typo in one address says nothing about this host."""
    endpoints: list[Endpoint] = []
    unusable = []
    for text in texts:
        try:
            endpoints += parse_endpoints([text])
        except OvnError as e:
            unusable.append({"endpoint": text, **served_certificate(None, 0), "problem": str(e)})
    return list(dict.fromkeys(endpoints)), unusable


class Access(t.NamedTuple):
    """How the control plane is reached: the client of the API server, None for a machine, and the files with which ports are asked."""

    cluster: Cluster | None
    tls: TlsFiles
    refusal: Refused | None = None  # why these files may not be read from their Secret or ConfigMap

    def ask_port(self, endpoint: Endpoint, seconds: float) -> dict[str, t.Any]:
        """Return what `ask_certificate` does; why there is no certificate to ask with, if it is known."""
        if self.refusal and endpoint.scheme == "ssl":
            return {"endpoint": str(endpoint), **served_certificate(None, 0), "problem": str(self.refusal)}
        return ask_certificate(endpoint, self.tls, seconds, time.time())


@contextlib.contextmanager
def access(module: AnsibleModule) -> t.Iterator[Access]:
    """Yield the access; the files of a Secret exist as long as the context."""
    params = module.params
    given = TlsFiles(params["private_key"], params["certificate"], params["ca_certificate"])
    if not params["cluster"]:
        yield Access(None, given)
        return
    from ..module_utils._api.tls_spec import ConfigMapReference
    from ..module_utils._kubernetes.client import Cluster
    from ..module_utils._kubernetes.secret_files import files_of, read_certificates

    cluster, secret = Cluster(params), params["tls_secret"]
    if not secret:
        yield Access(cluster, given)
        return
    bundle = ConfigMapReference(**params["ca_config_map"]) if params["ca_config_map"] else None
    data, refusal = read_certificates(cluster, secret, params["namespace"], bundle)
    with files_of(data or {}, module.tmpdir) as files:
        yield Access(cluster, TlsFiles(**files), refusal)


def read(params: Params, way: Access) -> dict[str, t.Any]:
    """Return the result of the module but for the heartbeat; all questions are asked at the same time."""
    raft, seconds, cluster = params["raft"], params["timeout"], way.cluster
    own, (everywhere, unusable) = parse_endpoints(params["endpoints"]), parse_addresses(params["addresses"])
    ports = {endpoint: functools.partial(way.ask_port, endpoint, seconds) for endpoint in [*own, *everywhere]}
    machine = CentralQuestions(params, way.tls)
    parts, source = questions_to_pods(cluster, params) if cluster else (machine.questions(), machine.source)
    asked = list(dict.fromkeys(raft["databases"])) if raft else []
    expected, contents = (
        (Expected(raft["expected_members"]), _contents_seconds(raft)) if raft else (Expected(None), None)
    )
    members = [functools.partial(ask_members, source(database), expected, seconds, contents) for database in asked]
    others = {} if cluster else machine.interconnection()
    questions: list[Question] = [*parts.values(), *ports.values(), *members, *others.values()]
    answers = ask_all(questions, lambda question: question())
    for answer in answers:
        if isinstance(answer, OvnError):
            raise answer
    result = dict(zip(parts, answers))
    if not cluster:
        result = {"northd": result["northd"], "databases": {database: result[database] for database in STEMS}}
    rest = iter(answers[len(parts) :])
    certificates = dict(zip(ports, [next(rest) for _port in ports]))
    result["certificates"] = [certificates[endpoint] for endpoint in own]
    result["addresses"] = [certificates[endpoint] for endpoint in everywhere] + unusable
    if params["record_directory"]:
        result["recorded"] = is_recorded(params["record_directory"])
    if raft:
        result["raft"] = {database: next(rest) for database in asked}
    if raft and not cluster:
        result["interconnection"] = {database: next(rest) for database in others}
    return result


def _contents_seconds(raft: Params) -> float | None:
    return raft["contents_timeout"] if raft["contents"] else None


def beat(heartbeat: Params, way: Access, warn: t.Callable[[str], None], *, check_mode: bool) -> dict[str, t.Any]:
    """Return the result of ovn_sync, or why there is none."""
    from ..module_utils._chassis.heartbeat_probe import send_heartbeat  # imports ovsdbapp

    try:
        places = parse_endpoints(heartbeat["northbound"]), parse_endpoints(heartbeat["southbound"])
        if way.refusal and any(endpoint.scheme == "ssl" for endpoint in (*places[0], *places[1])):
            raise way.refusal
        wait_for = "none" if check_mode else heartbeat["wait_for"]
        return send_heartbeat(*places, way.tls, Deadline(heartbeat["timeout"]), wait_for, warn)
    except OvnError as e:
        return {**e.as_result(), "failed": True}


def check(params: Params) -> None:
    raft = params["raft"]
    for option in ("tls_secret", "ca_config_map", "heartbeat"):
        if params[option] and not params["cluster"]:
            raise InvalidInput(f"{option} needs cluster: it is for a control plane in Kubernetes.")
    if raft:
        check_options(raft["expected_members"], timeout=params["timeout"], contents_timeout=raft["contents_timeout"])
        if raft["member"] and params["cluster"]:
            raise InvalidInput("raft.member cannot be combined with cluster: pods have names.")
        if (raft["endpoints"] or raft["only_endpoints"]) and params["cluster"]:
            raise InvalidInput("raft.endpoints cannot be combined with cluster: its pods are asked.")


_RAFT = {
    "databases": {"type": "list", "elements": "str", "choices": [*DATABASES], "default": [*DATABASES]},
    "member": {"type": "str"},
    "expected_members": {"type": "int"},
    "contents": {"type": "bool", "default": False},
    "contents_timeout": {"type": "float", "default": 60},
    "endpoints": {
        "type": "dict",
        "options": {d: {"type": "list", "elements": "str", "default": []} for d in DATABASES},
    },
    "only_endpoints": {"type": "bool", "default": False},
}
_HEARTBEAT = {
    "northbound": {"type": "list", "elements": "str", "required": True},
    "southbound": {"type": "list", "elements": "str", "required": True},
    "wait_for": {"type": "str", "choices": ["none", "sb", "hv"], "default": "hv"},
    "timeout": {"type": "float", "default": 30},
}
_CONFIG_MAP = {
    "name": {"type": "str", "required": True},
    "key": {"type": "str", "default": "ca.crt", "no_log": False},  # of the ConfigMap
}


def main() -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={
            **AUTH_ARG_SPEC,
            "run_directory": {"type": "path", "default": "/run/ovn"},
            "northd_control_socket": {"type": "path"},
            "record_directory": {"type": "path"},
            "cluster": {"type": "str"},
            "namespace": {"type": "str", "default": "ovn-system"},
            "endpoints": {"type": "list", "elements": "str", "default": []},
            "addresses": {"type": "list", "elements": "str", "default": []},
            "timeout": {"type": "float", "default": 5},
            "wait_timeout": {"type": "float", "default": 0},
            "raft": {"type": "dict", "options": _RAFT},
            "private_key": {"type": "path"},
            "certificate": {"type": "path"},
            "ca_certificate": {"type": "path"},
            "tls_secret": {"type": "str", "no_log": False},  # its name
            "ca_config_map": {"type": "dict", "options": _CONFIG_MAP},
            "heartbeat": {"type": "dict", "options": _HEARTBEAT},
        },
        mutually_exclusive=[("cluster", "northd_control_socket")],
        required_together=[("private_key", "certificate", "ca_certificate")],
        supports_check_mode=True,
    )
    hide_only_secrets(module)
    params = module.params
    try:
        check(params)
        with access(module) as way:
            result = read(params, way)
            if params["heartbeat"]:
                result["heartbeat"] = beat(params["heartbeat"], way, module.warn, check_mode=module.check_mode)
    except OvnError as e:
        module.fail_json(**e.as_result())
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
