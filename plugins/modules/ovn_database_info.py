#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_database_info
short_description: Tables of the Northbound, Southbound or Open_vSwitch database as facts
version_added: "0.1.0"
description:
  - Reads tables of one database and returns their rows with the types that Python has for them, so that no text has to be parsed.
  - All rows of a result come from one transaction, so they are one state of the database, those that O(expand) adds included.
  - A member that has lost its cluster is not believed, because its copy may be old. The next one of O(endpoints) is asked.
  - Only what is asked for is read, and conditions are evaluated by the server. No library is needed on the managed host, except for O(query).
  - The schema of the server decides which tables and columns there are. What it lacks is an error that names similar names.
  - Secrets that these databases hold in clear text are returned as V(********), which are values of C(options:psk) in table C(Interface)
    of Open_vSwitch (pre-shared keys of IPsec tunnels) and every text with a private key in PEM. Names of key files are returned as they are.
    What others put into C(external_ids) is not known here, so set C(no_log) if secrets are among it.
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
    description: The database. The pods of O(cluster) have V(northbound) and V(southbound).
    type: str
    choices: [northbound, southbound, open_vswitch]
    required: true
  endpoints:
    description:
      - OVSDB endpoints of the members or relays, C(ssl:HOST:PORT), C(tcp:HOST:PORT) or C(unix:FILE); IPv6 addresses in brackets.
        An item may be a comma list.
      - The first one that can answer is asked.
      - By default the socket on the managed host, C(ovnnb_db.sock) or C(ovnsb_db.sock) in O(run_directory), or C(unix:/run/openvswitch/db.sock).
      - Reading is allowed on listeners with the role C(ovn-controller) as well.
    type: list
    elements: str
  run_directory:
    description: Where the Northbound and the Southbound server of the managed host have their sockets.
    type: path
    default: /run/ovn
  leader_only:
    description:
      - Whether only the leader of a Raft cluster is asked. Another member may be some milliseconds behind it, which matters right after a write
        through the leader.
      - Give the endpoints of all members then. Databases that are not clustered, and relays, are asked as ever.
    type: bool
    default: false
  tables:
    description: Names of the tables, for example V(Logical_Switch).
    type: list
    elements: str
    required: true
  columns:
    description:
      - Columns to return, a list if there is one table, or a dictionary from names of tables to lists. Tables that O(expand) leads to may be among them.
      - By default all columns of a table. C(_uuid) and columns that O(expand) follows are always returned. C(_version) is returned if it is named.
    type: raw
  where:
    description:
      - Conditions that a row has to meet, all of them. Rows that O(expand) adds need not meet any.
      - If there is one table, a dictionary of columns and the values that they equal.
      - Otherwise, or for other comparisons, a list of dictionaries with C(table) (may be left out if there is one), C(column), C(op) and C(value).
      - C(op) is one of V(==) (the default), V(!=), V(<), V(<=), V(>), V(>=), V(includes) and V(excludes), as RFC 7047 defines them. V(includes) and
        V(excludes) compare with a part of a set or map. The four that compare sizes need a single integer or real.
      - C(value) has the type of the column, a list for a set, a dictionary for a map, a UUID as text for a reference, V(null) or an empty list
        for an optional column without a value.
    type: raw
  expand:
    description:
      - Columns with references that are returned as the referenced rows, dictionaries, instead of their UUIDs.
      - Each is C(TABLE.COLUMN), or C(COLUMN) in each of O(tables) that has it. More columns may follow, as in
        V(Logical_Router.ports.gateway_chassis).
      - A reference to a row that the path has already gone through stays a UUID, so a cycle ends.
      - Rows of a set are sorted as those of RV(tables) are.
    type: list
    elements: str
    default: []
  query:
    description:
      - JMESPath expression over the whole result. RV(result) is what it selects.
      - The Python library C(jmespath) is needed for it on the managed host.
    type: str
  timeout:
    description:
      - Time for everything together, in seconds. A member that hangs gets an equal share of it, two seconds at least, when there are others.
      - The resolution of a host name in O(endpoints) is not limited by it, the resolver has time limits of its own.
      - A command in a pod of O(cluster) may take 15 seconds.
    type: float
    default: 10
requirements:
  - "python3-jmespath (Debian) or jmespath (PyPI) on the managed host, for O(query) alone"
  - "kubernetes (PyPI) on the control node, for O(cluster) alone"
seealso:
  - module: c5c3.ovn.ovn_raft_status
  - module: c5c3.ovn.ovn_cluster_info
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Read the logical switches with their ports, on a database host
  c5c3.ovn.ovn_database_info:
    database: northbound
    tables: [Logical_Switch]
    columns:
      Logical_Switch: [name, ports]
      Logical_Switch_Port: [name, addresses, up]
    expand: [ports]
  register: northbound

- name: Which ports are down?
  ansible.builtin.debug:
    msg: "{{ northbound.tables.Logical_Switch | map(attribute='ports') | flatten | rejectattr('up') | map(attribute='name') }}"

- name: Which ports are bound to a chassis? From anywhere.
  c5c3.ovn.ovn_database_info:
    database: southbound
    endpoints: ["ssl:192.0.2.11:6642", "ssl:192.0.2.12:6642", "ssl:192.0.2.13:6642"]
    private_key: /etc/ovn/tls/chassis-key.pem
    certificate: /etc/ovn/tls/chassis-cert.pem
    ca_certificate: /etc/ovn/tls/ca.pem
    tables: [Port_Binding]
    columns:
      Port_Binding: [logical_port, type]
      Chassis: [name, hostname]
    where:
      - {column: chassis, op: "!=", value: null}
    expand: [chassis]
    query: "tables.Port_Binding[].{port: logical_port, chassis: chassis.name}"
  register: bound

- name: Read a setting of the chassis
  c5c3.ovn.ovn_database_info:
    database: open_vswitch
    tables: [Open_vSwitch]
    query: tables.Open_vSwitch[0].external_ids."ovn-encap-ip"
  register: encapsulation

- name: Read the userspace bridges with their ports and interfaces
  c5c3.ovn.ovn_database_info:
    database: open_vswitch
    tables: [Bridge]
    where: {datapath_type: netdev}
    expand: [ports.interfaces]

- name: Read the chassis that take gateway traffic
  c5c3.ovn.ovn_database_info:
    database: southbound
    tables: [Chassis]
    where:
      - column: other_config
        op: includes
        value: {ovn-cms-options: enable-chassis-as-gw}

- name: Read the NAT rules of a control plane in Kubernetes
  c5c3.ovn.ovn_database_info:
    database: northbound
    cluster: ovn
    kubeconfig: ~/.kube/config
    tables: [NAT]
  delegate_to: localhost
"""

RETURN = r"""
tables:
  description:
    - The rows of each table in O(tables), sorted by their names, where they have one, and by their UUIDs. Each row is a dictionary of columns.
    - C(_uuid) and references are text. Integers, reals and booleans are what they are. A set is a sorted list, and a map a dictionary whose keys are
      text. An optional column is its value or V(null).
  returned: success
  type: dict
  sample: {"Logical_Switch": [{"_uuid": "3d4ae12a-5b56-4b8a-8b5b-2f5b3a3f0c11", "name": "sw0", "ports": []}]}
result:
  description: What O(query) selects, V(null) if it selects nothing.
  returned: success and O(query) is given
  type: raw
  sample: ["sw0", "sw1"]
database:
  description: Name of the database as its schema has it.
  returned: success
  type: str
  sample: OVN_Northbound
schema_version:
  description: Version of the schema that the server has.
  returned: success
  type: str
  sample: 7.0.0
endpoint:
  description: Endpoint or pod that answered.
  returned: success
  type: str
  sample: ssl:192.0.2.11:6641
server:
  description: What the server says of itself.
  returned: success
  type: dict
  contains:
    model:
      description: V(standalone), V(clustered) or V(relay).
      type: str
      sample: clustered
    leader:
      description: Whether it leads the Raft cluster; true for a database that is not clustered.
      type: bool
      sample: true
    cluster_id:
      description: Cluster id (UUID), V(null) if the database is not clustered.
      type: str
      sample: a0b739a1-2c38-479b-9e0d-605e9da30330
    server_id:
      description: Server id (UUID), V(null) if the database is not clustered.
      type: str
      sample: cdfb3fa1-d7ad-46fd-a7ad-918fd58ad205
    index:
      description: Index of the Raft log that it has applied, V(null) if the database is not clustered.
      type: int
      sample: 417
"""

import functools
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.databases import DATABASE_NAMES, STEMS, TITLES
from ..module_utils._base.deadline import Deadline
from ..module_utils._base.errors import InvalidInput, OvnError
from ..module_utils._base.query import check_query, run_query
from ..module_utils._kubernetes.auth import AUTH_ARG_SPEC, hide_only_secrets
from ..module_utils._ovsdb.endpoint import Endpoint, first_answer, parse_endpoints
from ..module_utils._ovsdb.rows import Caller
from ..module_utils._ovsdb.table_reader import DatabaseFacts, read_database
from ..module_utils._ovsdb.tls_files import TlsFiles
from ..module_utils._ovsdb.wire import Connection

_OPEN_VSWITCH = "Open_vSwitch"


def _local_endpoint(params: dict[str, t.Any]) -> str:
    """Return the endpoint of the server on this host."""
    stem = STEMS.get(params["database"])
    return f"unix:{params['run_directory']}/{stem}.sock" if stem else "unix:/run/openvswitch/db.sock"


def _read(params: dict[str, t.Any]) -> DatabaseFacts:
    """Return what the first server that can answer holds."""
    deadline = Deadline(params["timeout"])
    name = DATABASE_NAMES.get(params["database"], _OPEN_VSWITCH)

    def ask(connection: Caller) -> DatabaseFacts:
        return read_database(connection, name, params)

    if params["cluster"]:
        from ..module_utils._control_plane.database_pods import DatabasePods
        from ..module_utils._kubernetes.client import Cluster

        return DatabasePods(Cluster(params), params["namespace"], params["cluster"], params["database"]).ask(
            ask, deadline
        )
    endpoints = parse_endpoints(params["endpoints"] or [_local_endpoint(params)])
    tls = TlsFiles(params["private_key"], params["certificate"], params["ca_certificate"])

    def ask_one(endpoint: Endpoint) -> DatabaseFacts:
        share = deadline.within(max(2.0, deadline.seconds / len(endpoints)))
        with Connection(endpoint, tls, share) as connection:
            return ask(connection)

    questions = [functools.partial(ask_one, endpoint) for endpoint in endpoints]
    return first_answer(questions, TITLES.get(params["database"], _OPEN_VSWITCH))


def _check(params: dict[str, t.Any]) -> None:
    if params["timeout"] <= 0:
        raise InvalidInput(f"timeout is {params['timeout']:g}: it must be more than 0 seconds.")
    if params["cluster"] and params["endpoints"]:
        raise InvalidInput("cluster and endpoints exclude each other. Give one of them.")
    if params["cluster"] and params["database"] == "open_vswitch":
        raise InvalidInput(
            "cluster has the Northbound and the Southbound database. Leave it out to ask an Open vSwitch."
        )
    if params["query"] is not None:
        check_query(params["query"])


def _result(params: dict[str, t.Any], facts: DatabaseFacts) -> dict[str, t.Any]:
    server = facts.server
    result = {
        "tables": facts.tables,
        "database": server.name,
        "schema_version": facts.schema_version,
        "endpoint": facts.endpoint,
        "server": {
            "model": server.model,
            "leader": server.leader,
            "cluster_id": server.cluster_id,
            "server_id": server.server_id,
            "index": server.index,
        },
    }
    if params["query"] is not None:
        result["result"] = run_query(params["query"], result)
    return result


def main() -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={
            **AUTH_ARG_SPEC,
            "database": {"type": "str", "choices": ["northbound", "southbound", "open_vswitch"], "required": True},
            "cluster": {"type": "str"},
            "namespace": {"type": "str", "default": "ovn-system"},
            "endpoints": {"type": "list", "elements": "str"},
            "run_directory": {"type": "path", "default": "/run/ovn"},
            "leader_only": {"type": "bool", "default": False},
            "tables": {"type": "list", "elements": "str", "required": True},
            "columns": {"type": "raw"},
            "where": {"type": "raw"},
            "expand": {"type": "list", "elements": "str", "default": []},
            "query": {"type": "str"},
            "timeout": {"type": "float", "default": 10},
            "private_key": {"type": "path"},
            "certificate": {"type": "path"},
            "ca_certificate": {"type": "path"},
        },
        required_together=[("private_key", "certificate", "ca_certificate")],
        supports_check_mode=True,
    )
    hide_only_secrets(module)
    try:
        _check(module.params)
        result = _result(module.params, _read(module.params))
    except OvnError as e:
        module.fail_json(**e.as_result())
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
