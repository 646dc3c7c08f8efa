"""The whole rollout on five machines: the first time, with nothing to do, and the status of its six database servers."""

from __future__ import annotations

import typing as t

from machines import CENTRALS, Machines, address
from measure import Figure, print_rows
from playbook import Run, play

AGAIN_ROUNDS = 2
STATUS_ROUNDS = 7
_pings: list[float] = []  # of the five machines, used by both rows about site


def _ping(machines: Machines) -> float:
    tasks = [{"name": "ping", "ansible.builtin.ping": {}}]
    seconds = play("ping", [{"hosts": "all", "gather_facts": False, "tasks": tasks}], machines.sandbox()).seconds
    _pings.append(seconds)
    return seconds


def site_first(machines: Machines) -> list[Figure]:
    """What `make sandbox` does when the machines are there: rollout and ping through Geneve."""
    machines.up()
    print("First rollout: c5c3.ovn.site and c5c3.ovn.ping on five fresh machines", flush=True)
    _ping(machines)  # makes the connections
    _pings.clear()
    pings = [_ping(machines) for _round in range(3)]
    site = play("site-first", "c5c3.ovn.site", machines.sandbox())
    pings.append(_ping(machines))
    proof = play("ping-first", "c5c3.ovn.ping", machines.sandbox())
    pings += [_ping(machines) for _round in range(2)]
    _slowest("first c5c3.ovn.site", site)
    return [
        Figure(
            "first make sandbox without machines: site + ping",
            [site.seconds + proof.seconds],
            "ping play",
            pings,
            25,
        )
    ]


def site_again(machines: Machines) -> list[Figure]:
    print(f"Rollout with nothing to do: c5c3.ovn.site, {AGAIN_ROUNDS} rounds in turns", flush=True)
    pings, times = [], []
    for number in range(1, AGAIN_ROUNDS + 1):
        pings += [_ping(machines) for _round in range(2)]
        site = play(f"site-again-{number}", "c5c3.ovn.site", machines.sandbox())
        if site.changed:
            raise RuntimeError(
                f"c5c3.ovn.site had something to do: {site.changed} changed tasks; see site-again-{number}.log"
            )
        times.append(site.seconds)
    pings.append(_ping(machines))
    _slowest("c5c3.ovn.site with nothing to do", site)
    return [Figure("c5c3.ovn.site on five machines, nothing to do", times, "ping play", pings, 6)]


def _slowest(what: str, run: Run) -> None:
    print(f"\nThe ten slowest of {len(run.tasks)} tasks of {what} ({run.seconds:.1f} s):")
    slowest = sorted(run.tasks, key=lambda task: task.seconds, reverse=True)[:10]
    print_rows([(f"{task.seconds:6.2f} s", task.name) for task in slowest])
    print()


def status_of_six(machines: Machines) -> list[Figure]:
    """Each server is a host: three Northbound and three Southbound members, with TLS, of the rollout."""
    print(f"Status: six database servers, {STATUS_ROUNDS} rounds in turns", flush=True)
    servers = {
        f"{database}{number}": {"ansible_host": address(octet), "database": database}
        for database in ("northbound", "southbound")
        for number, octet in enumerate(CENTRALS.values(), 1)
    }
    inventory = machines.inventory("servers", {"servers": {"hosts": servers}})
    ping: dict[str, t.Any] = {"name": "ping", "ansible.builtin.ping": {}}
    status = {
        "name": "status",
        "c5c3.ovn.ovn_raft_status": {"database": "{{ database }}", "expected_members": 3},
        "register": "status",
        "failed_when": "not status.writable",
    }
    times: dict[str, list[float]] = {"ping": [], "status": []}
    tasks: dict[str, list[float]] = {"ping": [], "status": []}
    for number in range(STATUS_ROUNDS + 1):
        for task in (ping, status):
            name = task["name"]
            plays = [{"hosts": "servers", "gather_facts": False, "tasks": [task]}]
            run = play(f"status-{name}", plays, inventory)
            if number:  # the first round makes the connections
                times[name].append(run.seconds)
                tasks[name] += run.times(name)
    what = "ovn_raft_status of 6 servers"
    return [
        Figure(f"{what}, one play", times["status"], "ping play", times["ping"], 1.1),
        Figure(f"{what}, its task alone", tasks["status"], "ping task", tasks["ping"], None),
    ]
