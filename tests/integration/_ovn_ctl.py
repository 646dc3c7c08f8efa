"""An OVN that ovn-ctl of the distribution starts, in the namespaces of a run of LocalSite: no file, unit or record of this collection."""

from __future__ import annotations

_FOLDERS = "for d in /var/lib/ovn /var/log/ovn /etc/ovn; do mkdir -p $d; mount -t tmpfs none $d; done; "
_CTL = "/usr/share/ovn/scripts/ovn-ctl"
_QUIET = "> /dev/null 2>&1; "
# What both databases hold before and after a run: `state: unchanged` if nobody wrote.
_COMPARED = r"""
dump() { for db in OVN_Northbound:ovnnb_db OVN_Southbound:ovnsb_db; do
         ovsdb-client -t 10 -f csv dump "unix:$1/${db#*:}.sock" "${db%%:*}"; done; }
dump DIRECTORY > /run/before
trap 'dump DIRECTORY > /run/after; cmp -s /run/before /run/after && echo "state: unchanged" || diff /run/before /run/after;
      echo "nb_cfg: $(ovn-nbctl --no-leader-only --db=unix:DIRECTORY/ovnnb_db.sock get NB_Global . nb_cfg)"' EXIT
"""


def standalone(*more: str) -> str:
    """The commands that start one server for each database and a northd, and `more`. One heartbeat is over."""
    remotes = " ".join(f"--db-{name}-create-insecure-remote=yes" for name in ("nb", "sb"))
    start = f"{_CTL} start_northd {remotes} {_QUIET}ovn-nbctl --wait=sb sync; "
    return "".join([_FOLDERS, start, *more, _COMPARED.replace("DIRECTORY", "/run/ovn")])


def run_directory(number: int) -> str:
    return f"/run/ovn{number}"


def clustered(members: int = 3) -> str:
    """The same for a cluster at 127.0.0.11 and so on, each member with a folder of its own."""
    addresses = [f"127.0.0.1{number}" for number in range(1, members + 1)]
    commands = [_FOLDERS]
    for number, address in enumerate(addresses, 1):
        options = []
        for name, port in (("nb", 6641), ("sb", 6642)):
            options += [f"--db-{name}-addr={address}", f"--db-{name}-create-insecure-remote=yes"]
            options += [f"--db-{name}-cluster-local-addr={address}"]
            options += [f"--db-{name}-cluster-remote-addr={addresses[0]}"] if number > 1 else []
            options += [f"--ovn-northd-{name}-db={','.join(f'tcp:{one}:{port}' for one in addresses)}"]
        folders = {
            "OVN_RUNDIR": run_directory(number),
            "OVN_DBDIR": f"/var/lib/ovn/{number}",
            "OVN_LOGDIR": f"/var/log/ovn/{number}",
            "OVN_SYSCONFDIR": f"/etc/ovn/{number}",
        }
        variables = " ".join(f"{name}={folder}" for name, folder in folders.items())
        commands += [
            f"mkdir -p {' '.join(folders.values())}; ",
            f"{variables} {_CTL} start_northd {' '.join(options)} ",
        ]
        commands.append(_QUIET)
    northbound = ",".join(f"tcp:{one}:6641" for one in addresses)
    commands.append(f"ovn-nbctl --db={northbound} --wait=sb --timeout=30 sync; ")
    return "".join([*commands, _COMPARED.replace("DIRECTORY", run_directory(1))])


def interconnection(*, clustered: bool) -> str:
    """The commands that start the databases of interconnection beside a standalone OVN."""
    address = " ".join(f"--db-ic-{name}-cluster-local-addr=127.0.0.11" for name in ("nb", "sb")) if clustered else ""
    return f"{_CTL} start_ic_ovsdb {address} {_QUIET}"


def kolla() -> str:
    """The commands that Kolla Ansible 22.2.0 starts in its containers, for one host: clustered databases with files of its own names, northd with a socket
    that has no process id in its name, a relay beside them, and listeners that are rows of the databases.
    """
    address, run, lib, log = "127.0.0.11", "/run/ovn", "/var/lib/ovn/volumes", "/var/log/ovn"
    commands = [_FOLDERS, f"mkdir -p {run} {lib}/ovn-nb {lib}/ovn-sb; "]
    for name, port in (("nb", 6641), ("sb", 6642)):
        commands += [
            f"{_CTL} run_{name}_ovsdb --db-{name}-cluster-local-addr={address} --db-{name}-sock={run}/ovn{name}_db.sock ",
            f"--db-{name}-pidfile={run}/ovn{name}_db.pid --db-{name}-file={lib}/ovn-{name}/ovn{name}.db --ovn-{name}-logfile={log}/ovn-{name}-db.log ",
            f"> /dev/null 2>&1 & until ovsdb-client -t 3 list-dbs unix:{run}/ovn{name}_db.sock > /dev/null 2>&1; do sleep 0.1; done; ",
            f"ovn-{name}ctl --db=unix:{run}/ovn{name}_db.sock --timeout=30 --inactivity-probe=60000 set-connection ptcp:{port}:0.0.0.0; ",
        ]
    databases = f"--ovnnb-db=tcp:{address}:6641 --ovnsb-db=tcp:{address}:6642"
    relay = f"{run}/ovnsb_db_relay_1"
    commands += [
        f"ovn-northd -vconsole:emer {databases} --pidfile={run}/ovn-northd.pid --unixctl={run}/ovn-northd.ctl {_QUIET.replace(';', '&')}",
        f"{_CTL} start_sb_relay_ovsdb --db-sb-relay-remote=tcp:{address}:6642 --db-sb-relay-ctrl-sock={relay}.ctl --db-sb-relay-pidfile={relay}.pid ",
        f"--db-sb-relay-sock={run}/ovnsb_db_1.sock --db-sb-relay-use-remote-in-db=no {_QUIET}",
        f"ovn-nbctl --db=tcp:{address}:6641 --wait=sb --timeout=30 sync; ",
    ]
    return "".join([*commands, _COMPARED.replace("DIRECTORY", run)])
