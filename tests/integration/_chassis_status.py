"""What an OVNChassis of a test says, whoever has the token of an agent, and the observer of the chassis."""

from __future__ import annotations

import json
import pathlib
import ssl
import sys
import typing as t
import urllib.error
import urllib.parse
import urllib.request

from _hypervisors import API, Hypervisors
from conftest import Daemon, run, within

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.api_client import Api
from ansible_collections.c5c3.ovn.plugins.module_utils._agent.archive import build_archive
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused

Object = dict[str, t.Any]


def ovn_sbctl(endpoint: str, *arguments: str) -> None:
    run("ovn-sbctl", f"--db={endpoint}", "--timeout=20", *arguments)


def registered(endpoint: str) -> None:
    for number in (1, 2):
        ovn_sbctl(endpoint, "chassis-add", f"worker-{number}", "geneve", f"192.0.2.2{number}")
        ovn_sbctl(endpoint, "create", "Chassis_Private", f"name=worker-{number}", "nb_cfg_timestamp=1700000000000")


def condition(kind: str, message: str = "") -> Object:
    since = "2026-03-01T12:00:00Z"
    return {"type": kind, "status": "False", "reason": "Attack", "message": message, "lastTransitionTime": since}


class Attacker:
    """Whoever has the token of the agent of one node."""

    def __init__(self, hypervisors: Hypervisors, account: pathlib.Path) -> None:
        self.api = Api(hypervisors.server.url, str(account))
        self.server, self.account = hypervisors.server, account

    def send(self, name: str, content: str, manager: str, body: t.Any) -> int:
        """Return the status code of a PATCH of the status that our client does not know."""
        query = urllib.parse.urlencode({"fieldManager": manager, **({"force": "true"} if "apply" in content else {})})
        request = urllib.request.Request(
            f"{self.server.url}{API}/{name}/status?{query}",
            data=json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {(self.account / 'token').read_text()}",
                "Content-Type": f"application/{content}",
            },
            method="PATCH",
        )
        context = ssl.create_default_context(cafile=self.server.ca_certificate)
        try:
            with urllib.request.urlopen(request, timeout=within(20), context=context) as response:
                return int(response.status)
        except urllib.error.HTTPError as e:
            return e.code

    def write(self, name: str, message: str) -> Object:
        conditions = [condition("Ready", message)]
        return t.cast(Object, self.api.patch(f"{API}/{name}/status", {"status": {"conditions": conditions}}))

    def is_refused(self, name: str, words: str) -> bool:
        """Rights and policies that are new take a moment, in which this write gets through."""
        try:
            self.write(name, "not refused yet")
        except Refused as e:
            return words in str(e)
        return False


def with_two_nodes(hypervisors: Hypervisors) -> Hypervisors:
    """`worker-1` at 192.0.2.21 and `worker-2` at 192.0.2.22, and what a run has made of them."""
    for number in (1, 2):
        hypervisors.node(f"worker-{number}", f"192.0.2.2{number}")
    hypervisors()
    return hypervisors


OBSERVER = "ovn-chassis-observer"  # Deployment and ServiceAccount


def start_observer(hypervisors: Hypervisors, node: str, directory: pathlib.Path) -> Daemon:
    """Start what a pod of the Deployment runs on `node`: its command and environment, with the token of its account."""
    place = f"/apis/apps/v1/namespaces/{hypervisors.namespace}/deployments/{OBSERVER}"
    (container,) = hypervisors.get(place)["spec"]["template"]["spec"]["containers"]
    folder = directory / f"observer-{node}"
    folder.mkdir()
    archive = folder / "c5c3-ovn.pyz"
    archive.write_bytes(build_archive())
    account = hypervisors.account_of(node, folder, account=OBSERVER)
    environment = {one["name"]: one["value"] for one in container["env"]}
    environment.update(OVN_API_SERVER=hypervisors.server.url, OVN_SERVICE_ACCOUNT_DIR=str(account))
    command = [sys.executable, "-I", "-S", str(archive), container["command"][-1]]
    return Daemon(["env", *(f"{name}={value}" for name, value in environment.items()), *command], folder / "log")
