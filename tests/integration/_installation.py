"""A whole OVN on loopback: both databases, northd and chassis."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pathlib
import typing as t

from _vswitch import Vswitch
from conftest import Daemon, MakeCluster, RaftCluster, listens, run, until


@dataclasses.dataclass
class Installation:
    """What runs, each process with its sockets in `directory` or in that of its cluster."""

    northbound: RaftCluster
    southbound: RaftCluster
    directory: pathlib.Path
    northds: list[Daemon] = dataclasses.field(default_factory=list)
    chassis: dict[str, Vswitch] = dataclasses.field(default_factory=dict)

    def northd_socket(self, index: int = 0) -> str:
        return str(self.directory / f"northd{index}.ctl")

    def start_northd(self) -> Daemon:
        index = len(self.northds)
        self.northds.append(
            Daemon(
                [
                    "ovn-northd",
                    "-vconsole:off",
                    "--no-chdir",
                    f"--ovnnb-db={','.join(self.northbound.sockets)}",
                    f"--ovnsb-db={','.join(self.southbound.sockets)}",
                    f"--unixctl={self.northd_socket(index)}",
                ],
                self.directory / f"northd{index}.out",
            )
        )
        until(lambda: listens(self.northd_socket(index)), "northd's control socket")
        return self.northds[-1]

    def northd(self, command: str, index: int = 0) -> str:
        return run("ovn-appctl", "-T", "10", "-t", self.northd_socket(index), command).strip()

    def run_directories(self) -> dict[str, pathlib.Path]:
        """What /run/ovn is on each of three central hosts, by their names: the sockets of its members and of a northd."""
        found = {}
        for index in range(3):
            if index == len(self.northds):
                self.start_northd()
            found[f"central{index}"] = directory = self.directory / f"central{index}" / "run"
            directory.mkdir(parents=True, exist_ok=True)
            sockets = {"ovn-northd.ctl": self.northd_socket(index)}
            for stem, cluster in (("ovnnb_db", self.northbound), ("ovnsb_db", self.southbound)):
                sockets |= {
                    f"{stem}.{kind}": str(cluster.members[index].directory / f"db.{kind}") for kind in ("ctl", "sock")
                }
            for name, socket in sockets.items():
                if not (directory / name).is_symlink():
                    (directory / name).symlink_to(socket)
        return found

    def start_chassis(self, name: str, ip: str, **external_ids: str) -> Vswitch:
        chassis = Vswitch(self.directory, name)
        self.chassis[name] = chassis
        chassis.start()
        chassis.start_vswitchd()
        settings = {
            "system-id": name,
            "hostname": f"{name}.example.com",
            "ovn-remote": f'"{",".join(self.southbound.sockets)}"',
            "ovn-encap-type": "geneve",
            "ovn-encap-ip": ip,
            "ovn-bridge-datapath-type": "netdev",
            **external_ids,
        }
        chassis.vsctl("set", "open", ".", *(f"external_ids:{key}={value}" for key, value in settings.items()))
        chassis.start_controller()
        return chassis

    def stop(self) -> None:
        for chassis in self.chassis.values():
            chassis.stop()
        for northd in self.northds:
            northd.kill()

    @property
    def options(self) -> dict[str, t.Any]:
        return {"northbound": self.northbound.sockets, "southbound": self.southbound.sockets, "timeout": 20}


def heartbeat_number(northbound: RaftCluster) -> int:
    """Return the number of the last heartbeat."""
    select = {"op": "select", "table": "NB_Global", "where": [], "columns": ["nb_cfg"]}
    query = json.dumps(["OVN_Northbound", select])
    answer = json.loads(run("ovsdb-client", "-t", "10", "query", northbound.leader.socket, query))
    return int(answer[0]["rows"][0]["nb_cfg"])


@contextlib.contextmanager
def running(
    raft_cluster: MakeCluster, directory: pathlib.Path, *, election_timer: int = 10_000
) -> t.Iterator[Installation]:
    """Three members of each database and a northd that has worked once; no chassis yet. With ten seconds the load of the machine causes no elections."""
    databases = ("northbound", "southbound")
    north, south = (raft_cluster(3, database, election_timer=election_timer) for database in databases)
    built = Installation(north, south, directory)
    with contextlib.ExitStack() as stack:
        stack.callback(built.stop)
        built.start_northd()
        until(lambda: built.northd("status") == "Status: active", "northd to be active")
        servers = ",".join(built.options["northbound"])
        until(lambda: run("ovn-nbctl", f"--db={servers}", "--bare", "list", "NB_Global"), "northd to have worked once")
        yield built
