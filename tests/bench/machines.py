"""A set of machines of its own, like the sandbox's: other machines of this host are never touched."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
import sys
import types
import typing as t
from pathlib import Path

from playbook import LOGS, ROOT

CENTRALS = {"central1": 71, "central2": 72, "central3": 73}
HYPERVISORS = 2  # as many as the sandbox has
_STATE = Path("/var/tmp/c5c3-ovn-bench")
_NETWORK = os.environ.get("MACHINES_NETWORK", "198.51.100")


class Machines:
    """`up()` boots them; they end with the context."""

    logs = LOGS

    def __enter__(self) -> Machines:
        LOGS.mkdir(parents=True, exist_ok=True)
        self._lock = open("/run/lock/c5c3-ovn-bench", "w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit("bench: another one runs on this host; each would only measure the other")
        self._end()  # what a killed run left behind is not fresh
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        self._end()
        self._lock.close()

    def _end(self) -> None:
        if _STATE.exists():
            self._end_connections()
            self._run("down")

    def _run(self, *arguments: str) -> None:
        with (LOGS / "machines.log").open("a") as log:
            subprocess.run(
                [str(ROOT / "tests" / "testbed" / "machines"), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={
                    **os.environ,
                    "MACHINES_STATE": str(_STATE),
                    "MACHINES_NAMESPACE": "ovnbench",
                    "MACHINES_NETWORK": _NETWORK,
                },
                check=True,
            )

    def _end_connections(self) -> None:
        """What would otherwise wait minutes for machines that have gone."""
        for socket in (_STATE / "ssh").glob("*"):
            with contextlib.suppress(subprocess.SubprocessError):
                subprocess.run(
                    ["ssh", "-o", f"ControlPath={socket}", "-O", "exit", "bench"],
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=10,
                    check=False,
                )

    def up(self, hypervisors: int = HYPERVISORS) -> None:
        """Boot three central hosts and so many hypervisors with nothing on them; those that are up stay."""
        names = {**CENTRALS, **_hypervisors(hypervisors)}
        if not _STATE.exists():
            print(
                f"Booting {len(names)} machines (the first time on this host: downloading Debian for them)", flush=True
            )
        self._run("up", *(f"{name}={octet}" for name, octet in names.items()))

    def inventory(self, name: str, groups: dict[str, t.Any]) -> Path:
        """`name`.json, with what all connections have in common. A connection per inventory host, kept open, with pipelining."""
        options = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
        common = {
            "ansible_user": "root",
            "ansible_ssh_private_key_file": str(_STATE / "key"),
            "ansible_ssh_common_args": f"{options} -o ConnectTimeout=5 -o ServerAliveInterval=5 -o ServerAliveCountMax=3",
            "ansible_ssh_args": "-o ControlMaster=auto -o ControlPersist=300s",
            "ansible_pipelining": True,
            "ansible_python_interpreter": "/usr/bin/python3",
        }
        for group in groups.values():
            for host, variables in group["hosts"].items():
                # By name: several hosts may be one machine. Not a template: a delegated task would take the other host's.
                variables["ansible_control_path"] = f"{_STATE}/ssh/{host}"
        path = LOGS / f"{name}.json"
        path.write_text(json.dumps({"all": {"vars": common}, **groups}, indent=1))
        return path

    def sandbox(self, count: int = HYPERVISORS) -> Path:
        """The inventory that `make sandbox` writes, with the addresses of this set and `count` hypervisors."""
        centrals = {name: {"ansible_host": address(octet)} for name, octet in CENTRALS.items()}
        hypervisors = {
            name: {"ansible_host": address(octet), "ovn_encapsulation_ip": f"172.31.0.{octet}"}
            for name, octet in _hypervisors(count).items()
        }
        settings = {
            "ovn_hypervisor_datapath_type": "netdev",
            "ovn_hypervisor_underlay": {
                "bridge": "br-phy",
                "interface": "under0",
                "address": "{{ ovn_encapsulation_ip }}/24",
            },
            "ovn_hypervisor_bridge_mappings": [{"physical_network": "physnet1", "bridge": "br-ex"}],
        }
        groups = {
            "ovn_central": {
                "hosts": centrals,
                "vars": {"ovn_pki_ca_directory": str(_STATE / "ovn-pki"), "ovn_pki_ca_directory_is_kept": True},
            },
            "ovn_hypervisors": {
                "hosts": hypervisors,
                "vars": {**settings, "ovn_pki_ca_directory": str(_STATE / "ovn-pki")},
            },
            "ovn_gateways": {"hosts": {"hypervisor1": {}}},
        }
        return self.inventory(f"sandbox-{count}", groups)


def _hypervisors(count: int) -> dict[str, int]:
    """Their octets by name."""
    return {f"hypervisor{number}": 80 + number for number in range(1, count + 1)}


def address(octet: int) -> str:
    return f"{_NETWORK}.{octet}"


def all_addresses() -> list[str]:
    return [address(octet) for octet in (*CENTRALS.values(), *_hypervisors(HYPERVISORS).values())]
