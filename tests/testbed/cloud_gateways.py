"""What a floating IP feels when the machine of its gateway loses its power."""

from __future__ import annotations

import concurrent.futures
import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from cloud_machines import GATEWAYS, Failed, answers, machines, outside, say, ssh, wait_until
from cloud_neutron import Api, ready_api

_PER_SECOND = 10
_SECONDS = 30
_BEFORE = 3.0  # seconds of answers first
_BY_HAND = 10.0  # seconds until somebody removes the dead chassis, where nothing watches it
_FAST = "300"  # milliseconds between two BFD packets; OVN's default is 1000, and three that are missing count


class Silence(NamedTuple):
    """The answers to pings, ten a second, around the loss of a gateway: the longest time without one in seconds, and how many packets were lost."""

    seconds: float
    lost: int
    sent: int

    def __str__(self) -> str:
        return f"no answer for {self.seconds:.1f} s, {self.lost} of {self.sent} packets lost"


def _northbound(command: str) -> str:
    return ssh("central1", f"ovn-nbctl --no-leader-only {command}")  # a member that does not lead hands writes on


def gateway() -> str:
    text = ssh(
        "central1",
        "ovn-sbctl --no-leader-only --bare --columns=chassis find Port_Binding type=chassisredirect | head -1 | "
        "xargs -r ovn-sbctl --no-leader-only --bare --columns=hostname list Chassis",
    )
    return text.strip() or "no gateway"


def _silence(ip: str, event: Callable[[], None]) -> Silence:
    """Ping the address while something happens."""
    count = _SECONDS * _PER_SECOND
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        ping = pool.submit(outside, f"ping -D -i {1 / _PER_SECOND} -W 1 -c {count} {ip}", check=False)
        time.sleep(_BEFORE)  # what is measured: answers before the event
        event()
        text = ping.result()
    answered = [
        float(line[1:].partition("]")[0]) for line in text.splitlines() if line.startswith("[") and "bytes from" in line
    ]
    gap = max((later - earlier for earlier, later in zip(answered, answered[1:])), default=float("inf"))
    return Silence(gap, count - len(answered), count)


def _floating_ip(api: Api) -> str:
    return str(api.call("GET", "floatingips")["floatingips"][0]["floating_ip_address"])


def gateway_death(api: Api) -> str:
    """Say what the floating IP feels when its gateway loses its power, which boots again afterwards."""
    ip, before = _floating_ip(api), gateway()
    silence = _silence(ip, lambda: machines("crash", before))
    after = gateway()
    machines("boot", before)
    if after == before or silence.seconds > _SECONDS / 2:
        raise Failed(f"{before} lost its power, and {ip} is through {after}; {silence}")
    return f"{before} lost its power: {ip} is through {after}, {silence}"


def gateways(_folder: Path) -> None:
    """Print that with BFD as it is, with quicker BFD, and without: a group of one chassis has none, and waits for somebody who removes the chassis."""
    api = ready_api()
    say("BFD each 1000 ms, OVN's default. " + gateway_death(api))
    _settle(api)
    with _options(f"bfd-min-rx={_FAST} bfd-min-tx={_FAST}"):
        _settle(api)
        say(f"BFD each {_FAST} ms. " + gateway_death(api))
    _settle(api)
    say("No BFD, a group of one. " + _death_without_bfd(api))


@contextlib.contextmanager
def _options(options: str) -> Iterator[None]:
    _northbound("set NB_Global . " + " ".join(f"options:{option}" for option in options.split()))
    try:
        yield
    finally:
        for option in options.split():
            _northbound(f"remove NB_Global . options {option.partition('=')[0]}")


def _settle(api: Api) -> None:
    """Wait until both gateways are there, and the floating IP answers."""
    time.sleep(10)  # both gateways have BFD sessions then, and the better one has taken over
    wait_until(lambda: answers(_floating_ip(api)), "the floating IP does not answer")


def _group() -> str:
    return _northbound("--bare --columns=ha_chassis_group find Logical_Router_Port 'ha_chassis_group!=[]'").split()[0]


def _members(group: str) -> list[str]:
    return _northbound(f"--bare --columns=ha_chassis list HA_Chassis_Group {group}").split()


def _death_without_bfd(api: Api) -> str:
    ip, before = _floating_ip(api), gateway()
    (other,) = set(GATEWAYS) - {before}
    group, dead, lone = _group(), _chassis(before), _chassis(other)

    def lose() -> None:
        machines("crash", before)
        time.sleep(_BY_HAND)  # as long as a person needs
        ssh("central1", f"ovn-sbctl --no-leader-only chassis-del {dead}")

    _northbound(f"ha-chassis-group-remove-chassis {group} {lone}")
    try:
        silence = _silence(ip, lose)
        after = gateway()
    finally:
        machines("boot", before)
        # Neutron puts both back when they are there; it may have been ended before it could.
        _northbound(f"ha-chassis-group-add-chassis {group} {lone} 1")
    wait_until(lambda: len(_members(group)) == len(GATEWAYS), f"{group} has not both gateways again")
    if after != other or silence.seconds < _BY_HAND:
        raise Failed(f"{before} lost its power without BFD, and {ip} is through {after}; {silence}")
    return (
        f"{before} lost its power, {_BY_HAND:.0f} s later its Chassis was deleted: {ip} is through {after}, {silence}"
    )


def _chassis(machine: str) -> str:
    return ssh("central1", f"ovn-sbctl --no-leader-only --bare --columns=name find Chassis hostname={machine}").strip()
