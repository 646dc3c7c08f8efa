"""The whole rollout on five machines: the first time, with nothing to do, with more hypervisors, and the status of its six database servers."""

from __future__ import annotations

import statistics
import typing as t
from pathlib import Path

from machines import CENTRALS, HYPERVISORS, Machines, address
from measure import Figure, print_rows
from playbook import Run, play

AGAIN_ROUNDS = 2
STATUS_ROUNDS = 7


def _ping(inventory: Path) -> float:
    tasks = [{"name": "ping", "ansible.builtin.ping": {}}]
    return play("ping", [{"hosts": "all", "gather_facts": False, "tasks": tasks}], inventory).seconds


def site_first(machines: Machines) -> list[Figure]:
    """What `make sandbox` does when the machines are there: rollout and ping through Geneve."""
    machines.up()
    print("First rollout: c5c3.ovn.site and c5c3.ovn.ping on five fresh machines", flush=True)
    inventory = machines.sandbox()
    _ping(inventory)  # makes the connections
    pings = [_ping(inventory) for _round in range(3)]
    site = play("site-first", "c5c3.ovn.site", inventory)
    pings.append(_ping(inventory))
    proof = play("ping-first", "c5c3.ovn.ping", inventory)
    pings += [_ping(inventory) for _round in range(2)]
    _slowest("first c5c3.ovn.site", site)
    return [
        Figure(
            "first make sandbox without machines: site + ping",
            [site.seconds + proof.seconds],
            "ping play",
            pings,
            20,
        )
    ]


def site_again(machines: Machines) -> list[Figure]:
    print(f"Rollout with nothing to do: c5c3.ovn.site, {AGAIN_ROUNDS} rounds in turns", flush=True)
    pings, sites = _in_turns("again", machines.sandbox())
    _slowest("c5c3.ovn.site with nothing to do", sites[-1])
    return [
        Figure("c5c3.ovn.site on five machines, nothing to do", [site.seconds for site in sites], "ping play", pings, 4)
    ]


def _in_turns(name: str, inventory: Path) -> tuple[list[float], list[Run]]:
    """What ping plays took and the runs of site between them, which had nothing to do."""
    pings, sites = [], []
    for number in range(1, AGAIN_ROUNDS + 1):
        pings += [_ping(inventory) for _round in range(2)]
        site = play(f"site-{name}-{number}", "c5c3.ovn.site", inventory)
        if site.changed:
            raise RuntimeError(
                f"c5c3.ovn.site had something to do: {site.changed} changed tasks; see site-{name}-{number}.log"
            )
        sites.append(site)
    pings.append(_ping(inventory))
    return pings, sites


def one_more_hypervisor(machines: Machines) -> list[Figure]:
    """What one more of them adds to a run with nothing to do. Its share of a ping play is the whole play over the number of its hosts."""
    sizes = (HYPERVISORS, 8, 16)
    pings: dict[int, float] = {}
    sites: dict[int, float] = {}
    for count in sizes:
        print(
            f"One more hypervisor: c5c3.ovn.site with nothing to do on three central hosts and {count} of them",
            flush=True,
        )
        machines.up(count)
        inventory = machines.sandbox(count)
        _ping(inventory)  # makes the connections
        play(f"site-{count}-hypervisors", "c5c3.ovn.site", inventory)
        pinged, ran = _in_turns(f"again-{count}-hypervisors", inventory)
        pings[count], sites[count] = statistics.median(pinged), statistics.median(run.seconds for run in ran)
    figures = []
    for index, count in enumerate(sizes):
        # The slope to both sides, at the ends to the one that there is.
        fewer, more = sizes[max(index - 1, 0)], sizes[min(index + 1, len(sizes) - 1)]
        each = (sites[more] - sites[fewer]) / (more - fewer)
        hosts = count + len(CENTRALS)
        what = f"one more hypervisor beside {count}, c5c3.ovn.site, nothing to do"
        figures.append(Figure(what, [each], "share of a ping play", [pings[count] / hosts], 3))
    return figures


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
