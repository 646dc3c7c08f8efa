"""What an engine tells of a container, why one cannot be ended for good, and the command that ends it."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._host.foreign_containers import (
    Container,
    examine_container,
    forbid_command,
    inspect_command,
    parse_inspect,
    stop_command,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._machine.supervisor import Supervisor

ID, SHORT = "0123456789ab" + "c" * 52, "0123456789ab"
FILE = "/var/lib/openvswitch/ovn-nb/ovnnb.db"
DOCKER = Supervisor("container", SHORT, "docker")
PODMAN = Supervisor("container", SHORT, "podman")
VOLUME = {"Type": "volume", "Name": "ovn_nb_db", "Source": "/v/_data", "Destination": "/var/lib/openvswitch/ovn-nb"}


def docker(
    labels: dict[str, str] | None = None, state: dict[str, t.Any] | None = None, policy: str = "no", **host: t.Any
) -> dict[str, t.Any]:
    """What `docker inspect` says, as far as it is read."""
    return {
        "Id": ID,
        "Name": "/ovn_nb_db",
        "State": {"Status": "running", "Running": True, "Restarting": False, **(state or {})},
        "HostConfig": {"RestartPolicy": {"Name": policy, "MaximumRetryCount": 0}, "AutoRemove": False, **host},
        "Mounts": [VOLUME, {"Type": "tmpfs", "Source": "", "Destination": "/run"}],
        "Config": {"Labels": labels or {}},
    }


def podman(pod: str = "", **changes: t.Any) -> dict[str, t.Any]:
    """What `podman inspect` says: no slash, an empty policy, and null where Docker has something empty."""
    return {
        "Id": ID,
        "Name": "ovn_nb_db",
        "State": {"Status": "running", "Running": True},
        "HostConfig": {"RestartPolicy": {"Name": "", "MaximumRetryCount": 0}, "AutoRemove": False},
        "Mounts": None,
        "Config": {"Labels": None},
        "Pod": pod,
        **changes,
    }


PLAIN = Container("ovn_nb_db", ID, running=True)
KEPT = PLAIN._replace(mounts=(("/var/lib/openvswitch/ovn-nb", True), ("/run", False)))


@pytest.mark.parametrize(
    ("found", "container"),
    [
        pytest.param(docker(), KEPT, id="docker"),
        pytest.param(podman(), PLAIN, id="podman"),
        pytest.param(docker(policy="unless-stopped"), KEPT._replace(policy="unless-stopped"), id="a policy"),
        pytest.param({**docker(), "HostConfig": {}}, KEPT, id="no policy"),
        pytest.param(docker(AutoRemove=True), KEPT._replace(removed_at_end=True), id="--rm"),
        pytest.param(docker(state={"Running": False}), KEPT._replace(running=False), id="it has ended"),
        pytest.param(docker(state={"Running": False, "Restarting": True}), KEPT, id="restarting counts as running"),
        pytest.param(
            docker({"com.docker.compose.project": "ovn"}),
            KEPT._replace(project="ovn"),
            id="a project of docker compose",
        ),
        pytest.param(
            docker({"io.podman.compose.project": "ovn"}), KEPT._replace(project="ovn"), id="a project of podman-compose"
        ),
        pytest.param(podman("fedcba987654" + "0" * 52), PLAIN._replace(owner="pod fedcba987654"), id="a pod of podman"),
        pytest.param(
            docker({"com.docker.swarm.service.name": "ovn_nb"}),
            KEPT._replace(owner="Docker Swarm service ovn_nb"),
            id="Swarm",
        ),
        pytest.param(docker({"com.hashicorp.nomad.job_name": "ovn"}), KEPT._replace(owner="Nomad job ovn"), id="Nomad"),
        pytest.param(
            docker({"com.hashicorp.nomad.alloc_id": "7f"}),
            KEPT._replace(owner="Nomad allocation 7f"),
            id="Nomad without the name of the job",
        ),
        pytest.param(
            docker({"io.kubernetes.pod.name": "ovn-central-0", "x": "y"}),
            KEPT._replace(owner="Kubernetes pod ovn-central-0"),
            id="Kubernetes",
        ),
        pytest.param(docker({"maintainer": "somebody"}), KEPT, id="other labels"),
        pytest.param(
            {**docker(), "Mounts": [{"Type": "bind", "Source": "/srv", "Destination": "/data"}]},
            PLAIN._replace(mounts=(("/data", True),)),
            id="a folder of the host is kept",
        ),
        pytest.param(
            {**docker(), "Mounts": [{**VOLUME, "Name": "a" * 64}]},
            PLAIN._replace(mounts=(("/var/lib/openvswitch/ovn-nb", False),)),
            id="a volume without a name is not kept",
        ),
    ],
)
def test_what_an_engine_tells_of_a_container(found: dict[str, t.Any], container: Container) -> None:
    assert parse_inspect(json.dumps([found])) == container


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("Error: no such container", id="no JSON"),
        pytest.param("[]", id="no container"),
        pytest.param(json.dumps([docker(), docker()]), id="two containers"),
        pytest.param("{}", id="no list"),
        pytest.param("7", id="a number"),
        pytest.param("[null]", id="null"),
        pytest.param('["x"]', id="a text"),
        pytest.param(json.dumps([{"Name": "/x"}]), id="no state"),
        pytest.param(json.dumps([{**docker(), "HostConfig": None}]), id="null instead of an object"),
        pytest.param(json.dumps([{**docker(), "Name": None}]), id="null instead of a name"),
        pytest.param(json.dumps([{**docker(), "Mounts": [{"Source": "/srv"}]}]), id="a mount without a type"),
        pytest.param(json.dumps([{**docker(), "Config": {"Labels": 1}}]), id="no labels"),
    ],
)
def test_anything_else_is_no_container(text: str) -> None:
    with pytest.raises(OvnError, match="does not describe it"):
        parse_inspect(text)


class Host:
    """Prints what an engine and systemd would. `executed` is what its only unit executes."""

    def __init__(self, found: dict[str, t.Any] | None, version: str = "", executed: str = "/bin/true") -> None:
        self.inspected, self.version, self.executed = json.dumps([found]) if found else "", version, executed
        self.asked = list[tuple[str, ...]]()

    def __call__(self, *command: str) -> str:
        self.asked.append(command)
        if "inspect" in command:
            return self.inspected
        if "--version" in command:
            return self.version
        if "show" in command:
            state = "ActiveState=active\nUnitFileState=enabled"
            return f"Id=one.service\n{state}\nExecStart={{ path=x ; argv[]={self.executed} ; ignore_errors=no }}\n"
        return "one.service enabled enabled\n" if "list-unit-files" in command else ""


def test_a_container_is_examined() -> None:
    host = Host(docker(policy="always"), executed="/usr/bin/docker start -a ovn_nb_db")
    facts = {"name": "ovn_nb_db", "policy": "always", "units": ["one.service"], "problem": ""}
    assert examine_container(host, DOCKER, FILE) == facts
    assert host.asked[0] == tuple(inspect_command("docker", SHORT))
    assert inspect_command("docker", SHORT)[3:] == ["docker", "inspect", "--type=container", SHORT]


RM = docker(AutoRemove=True)
NAMES_OF_OTHERS = ("ovn-northd (process 9)", "ovsdb-server (process 10)")


@pytest.mark.parametrize(
    ("host", "supervisor", "neighbors", "problem"),
    [
        pytest.param(Host(docker()), DOCKER, (), "", id="docker"),
        pytest.param(Host(docker(policy="always")), DOCKER, (), "", id="docker with a policy"),
        pytest.param(Host(podman()), PODMAN, (), "", id="podman"),
        pytest.param(
            Host(docker(policy="always"), "podman version 4.3.1\n"),
            PODMAN,
            (),
            "its restart policy is always, which this version of podman cannot change",
            id="podman 4.3 with a policy",
        ),
        pytest.param(
            Host(docker(policy="always"), "podman version 5.0.3\n"),
            PODMAN,
            (),
            "which this version of podman cannot change",
            id="podman 5.0 with a policy",
        ),
        pytest.param(
            Host(docker(policy="always")), PODMAN, (), "cannot change", id="podman without a version, with a policy"
        ),
        pytest.param(
            Host(docker(policy="always"), "podman version 5.1.0\n"), PODMAN, (), "", id="podman 5.1 with a policy"
        ),
        pytest.param(
            Host(docker(policy="always"), "podman version 10.0.0\n"), PODMAN, (), "", id="podman 10 with a policy"
        ),
        pytest.param(Host(podman(), "podman version 4.3.1\n"), PODMAN, (), "", id="podman 4.3 without a policy"),
        pytest.param(
            Host(docker()), Supervisor("container", SHORT), (), "no command that is known here", id="unknown engine"
        ),
        pytest.param(
            Host(None),
            DOCKER,
            (),
            f"docker does not describe it; docker inspect --type=container {SHORT} says why",
            id="a silent engine",
        ),
        pytest.param(
            Host(docker()),
            DOCKER,
            NAMES_OF_OTHERS,
            "it runs ovn-northd (process 9), ovsdb-server (process 10) as well",
            id="neighbors",
        ),
        pytest.param(
            Host(docker({"com.hashicorp.nomad.job_name": "ovn"})),
            DOCKER,
            (),
            "it belongs to the Nomad job ovn, which would start it again. End it there",
            id="an owner",
        ),
        pytest.param(
            Host(docker({"com.docker.compose.project": "ovn"}), executed="/usr/bin/docker-compose -p ovn up"),
            DOCKER,
            (),
            "it belongs to the compose project ovn, and one.service starts such projects. Disable that unit first",
            id="a unit that starts its project",
        ),
        pytest.param(Host(RM), DOCKER, (), "", id="--rm with a named volume"),
        pytest.param(
            Host({**RM, "Mounts": []}),
            DOCKER,
            (),
            f"{FILE} is in no volume, and is deleted when it ends. Create it again without --rm",
            id="--rm without a volume",
        ),
        pytest.param(
            Host({**RM, "Mounts": [{**VOLUME, "Name": "a" * 64}]}),
            DOCKER,
            (),
            "in no volume",
            id="--rm with an anonymous volume",
        ),
        pytest.param(
            Host({**RM, "Mounts": [{**VOLUME, "Destination": "/var/lib/openvswitch/ovn"}]}),
            DOCKER,
            (),
            "in no volume",
            id="--rm with a volume beside it",
        ),
        pytest.param(
            Host({**RM, "Mounts": [{**VOLUME, "Destination": "/var/lib/openvswitch/"}]}),
            DOCKER,
            (),
            "",
            id="--rm with a volume above it",
        ),
        pytest.param(
            Host(
                {
                    **RM,
                    "Mounts": [
                        {**VOLUME, "Destination": "/var"},
                        {"Type": "tmpfs", "Destination": FILE.rpartition("/")[0]},
                    ],
                }
            ),
            DOCKER,
            (),
            "in no volume",
            id="--rm with memory in a volume",
        ),
        pytest.param(Host({**docker(), "Mounts": []}), DOCKER, (), "", id="no volume, but it stays"),
    ],
)
def test_why_a_container_cannot_be_ended_for_good(
    host: Host, supervisor: Supervisor, neighbors: tuple[str, ...], problem: str
) -> None:
    facts = examine_container(host, supervisor, FILE, neighbors)
    assert problem in facts["problem"]
    assert bool(facts["problem"]) == bool(problem)
    assert not facts["problem"].endswith(".")


def test_what_has_no_file_is_not_deleted() -> None:
    assert examine_container(Host({**RM, "Mounts": []}), DOCKER)["problem"] == ""


def test_a_container_that_nobody_describes_keeps_the_name_that_is_known() -> None:
    facts = examine_container(Host(None), DOCKER)
    assert (facts["name"], facts["policy"], facts["units"]) == (SHORT, "", [])


def test_units_that_cannot_be_read_are_a_problem() -> None:
    host = Host(docker())
    facts = examine_container(lambda *command: "" if command[0] == "systemctl" else host(*command), DOCKER)
    assert "units of systemd cannot be read" in facts["problem"]


@pytest.mark.parametrize(
    ("runtime", "unit", "units", "policy", "command"),
    [
        pytest.param("docker", "", [], "always", "docker update --restart=no x && docker stop x", id="docker"),
        pytest.param(
            "docker",
            "",
            ["a.service", "b.service"],
            "always",
            "systemctl disable --now a.service b.service && docker update --restart=no x && docker stop x",
            id="docker with units and a policy",
        ),
        pytest.param(
            "docker", "", ["a.service"], "no", "systemctl disable --now a.service && docker stop x", id="no policy"
        ),
        pytest.param(
            "podman",
            "a.service",
            ["a.service"],
            "no",
            "systemctl disable --now a.service && podman stop x",
            id="podman in its unit",
        ),
        pytest.param("podman", "", [], "no", "podman stop x", id="podman without units"),
        pytest.param("docker", "", [], "no", "docker stop x", id="docker without units and policy"),
        pytest.param(
            "podman", "", [], "always", "podman update --restart=no x && podman stop x", id="podman with a policy"
        ),
        pytest.param(
            "podman",
            "a.service",
            [],
            "no",
            "systemctl disable --now a.service && podman stop x",
            id="a unit around it, and others that cannot be known",
        ),
        pytest.param(
            "podman",
            "",
            [],
            "",
            "podman stop x, and keep its unit, if it has one, from starting it again",
            id="podman does not describe it",
        ),
        pytest.param("docker", "a.service", [], "", "systemctl disable --now a.service", id="a unit around it"),
        pytest.param("", "", [], "", "", id="unknown engine"),
    ],
)
def test_the_command_that_ends_it(runtime: str, unit: str, units: list[str], policy: str, command: str) -> None:
    supervisor = Supervisor("container", SHORT, runtime, unit)
    assert stop_command(supervisor, {"name": "x", "units": units, "policy": policy}) == command


def test_the_command_without_facts_has_the_name_that_is_known() -> None:
    assert stop_command(DOCKER, {}) == f"docker update --restart=no {SHORT} && docker stop {SHORT}"
    assert stop_command(Supervisor("none"), {}, "/run/ovn/x.ctl") == "ovs-appctl -t /run/ovn/x.ctl exit"


def test_an_engine_that_hangs_is_not_waited_for() -> None:
    assert forbid_command("docker", "x") == [
        *("timeout", "--kill-after=5", "30"),
        *("docker", "update", "--restart=no", "x"),
    ]
