"""Seconds until a created port has its flows, in an empty cloud and beside many ports."""

from __future__ import annotations

import concurrent.futures
import time
from pathlib import Path
from typing import Any

from cloud_machines import say, ssh
from cloud_neutron import Api, Guest, create_port, ready_api

_MEASURED = 10
_AT_ONCE = 100  # ports of one call
_PER_NETWORK = 250
_CLIENTS = 3  # of the API, which has two processes


def ports(_folder: Path, others: int = 0) -> None:
    """Print how long it takes from the call that creates a port until ovn-controller has installed its flows (ovn-installed).

    `others` ports are there meanwhile, in networks of their own and on no host: what the databases, northd and Neutron have to carry, as a cloud does whose
    projects are elsewhere.
    """
    api = ready_api()
    if others:
        start = time.monotonic()
        _crowd(api, others)
        say(f"{others} ports created in {time.monotonic() - start:.0f} s")
    tenant = api.call("GET", "networks?name=tenant")["networks"][0]
    ordered = sorted(_measure(api, tenant, number) for number in range(_MEASURED))
    say(
        f"{_MEASURED} ports beside {others}, from the call to their flows: median {ordered[_MEASURED // 2]:.2f} s, "
        f"{ordered[0]:.2f} to {ordered[-1]:.2f} s"
    )
    if others:
        _disperse(api)


def _measure(api: Api, network: dict[str, Any], number: int) -> float:
    start = time.monotonic()
    port = create_port(api, network, f"timed{number}", "compute1")
    guest = Guest(port["name"], "compute1", port)
    guest.plug()
    ssh("compute1", f"ovs-vsctl --timeout=60 wait-until Interface {guest.tap} external_ids:ovn-installed=true")
    seconds = time.monotonic() - start
    guest.unplug()
    api.call("DELETE", f"ports/{port['id']}")
    return seconds


def _crowd(api: Api, others: int) -> None:
    """Create what is missing of so many ports."""
    firsts = range(0, others, _PER_NETWORK)
    with concurrent.futures.ThreadPoolExecutor(_CLIENTS) as pool:
        list(pool.map(lambda first: _fill(api, first // _PER_NETWORK, min(_PER_NETWORK, others - first)), firsts))


def _fill(api: Api, number: int, wanted: int) -> None:
    """Create what is missing of one network with its ports."""
    network = api.named("network", f"crowd{number}")
    api.named(
        *("subnet", f"crowd{number}"),
        network_id=network["id"],
        ip_version=4,
        cidr=f"10.{1 + number // 128}.{number % 128 * 2}.0/23",
    )
    missing = wanted - len(
        api.call("GET", f"ports?network_id={network['id']}&device_owner=compute:crowd&fields=id")["ports"]
    )
    port = {"project_id": "demo", "network_id": network["id"], "device_owner": "compute:crowd"}
    while missing > 0:
        api.call("POST", "ports", {"ports": [port] * min(_AT_ONCE, missing)})
        missing -= _AT_ONCE


def _disperse(api: Api) -> None:
    """Delete them again."""
    crowd = api.call("GET", "ports?device_owner=compute:crowd&fields=id")["ports"]
    with concurrent.futures.ThreadPoolExecutor(_CLIENTS) as pool:
        list(pool.map(lambda port: api.call("DELETE", f"ports/{port['id']}"), crowd))
    for network in api.call("GET", "networks?fields=id&fields=name")["networks"]:
        if network["name"].startswith("crowd"):
            api.call("DELETE", f"networks/{network['id']}")
