# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes new settings reach the agents at once: a kubelet syncs ConfigMaps once a minute, and whenever a pod of its node changes."""

from __future__ import annotations

import datetime
import typing as t

from .._api.chassis_settings import DEFAULT
from .._base.errors import OvnError, TimedOut, Unreachable
from .._kubernetes.apply import ObjectChange
from .._kubernetes.client import Cluster
from .._kubernetes.timestamps import format_timestamp
from .desired import DesiredHypervisors
from .settings import Chassis
from .wait import our_pods


def trigger_config_sync(
    cluster: Cluster, desired: DesiredHypervisors, chassis: t.Iterable[Chassis], settings: ObjectChange
) -> None:
    """Annotate the pods of the agents whose settings have changed."""
    before, after = ((side or {}).get("data") or {} for side in (settings.before, settings.after))
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    stamp = format_timestamp(datetime.datetime.now(datetime.timezone.utc))
    patch = {"metadata": {"annotations": {"ovn.c5c3.io/settings": stamp}}}
    labels = f"{our_pods(desired.name)},app.kubernetes.io/component=controller"
    if not changed & {DEFAULT, *(one.node.name for one in chassis)}:
        return
    for pod in cluster.list("v1", "Pod", desired.namespace, labels=labels):
        if DEFAULT in changed or pod["spec"].get("nodeName") in changed:
            try:
                cluster.patch("v1", "Pod", pod["metadata"]["name"], desired.namespace, patch)
            except (TimedOut, Unreachable):  # one limit of time is enough for what is only faster this way
                return
            except OvnError:  # the pod may just have gone
                continue
