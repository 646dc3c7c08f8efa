"""The flows of br-int before, during and after an update.

flows.py SECONDS    reads them again and again for so long, then prints as JSON, with times in seconds since the first look:
  before            number of flows at the first look
  away, there       when ovs-vswitchd did not answer any more, and when it answered again; null if it always did
  first             number of flows at the first look that it answered again
  back              since when the flows are those of the first look, null if they are not at the end
  lacking, added    what has gone and what has come at the end, at most five of each
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import typing as t

DUMP = ["ovs-ofctl", "--timeout=5", "--protocols=OpenFlow15", "--no-stats", "dump-flows", "br-int"]
_COOKIE = re.compile(r"cookie=0x[0-9a-f]+, ")  # which logical flow it is of: the packets do not depend on it


def read_flows() -> set[str] | None:
    """Return the flows; None if ovs-vswitchd does not answer, or has no such bridge yet."""
    ran = subprocess.run(DUMP, check=False, capture_output=True, text=True)
    if ran.returncode != 0:
        return None
    return {_COOKIE.sub("", line).strip() for line in ran.stdout.splitlines() if "cookie=" in line}


def watch(seconds: float) -> dict[str, t.Any]:
    started, before = time.monotonic(), read_flows() or set()
    away = there = first = back = None
    flows: set[str] | None = before
    while time.monotonic() - started < seconds:
        flows, now = read_flows(), round(time.monotonic() - started, 2)
        if flows is None:
            away = now if away is None else away
        elif away is not None and there is None:
            there, first = now, len(flows)
        if flows != before:
            back = None
        elif back is None:
            back = now
        time.sleep(0.25)  # each look keeps ovs-vswitchd from its packets, if the datapath is in userspace
    after = flows or set()
    return {
        "before": len(before),
        "away": away,
        "there": there,
        "first": first,
        "back": back,
        "lacking": sorted(before - after)[:5],
        "added": sorted(after - before)[:5],
    }


if __name__ == "__main__":
    print(json.dumps(watch(float(sys.argv[1]))))
