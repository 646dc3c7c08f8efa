"""What keeps a daemon running, by its control group."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._machine.supervisor import Supervisor, parse_cgroup

ID = "0123456789ab" + "c" * 52
UNIT = Supervisor("unit", "ovn-ovsdb-server-nb.service")


@pytest.mark.parametrize(
    ("text", "supervisor"),
    [
        pytest.param("0::/system.slice/ovn-ovsdb-server-nb.service\n", UNIT, id="a unit"),
        pytest.param(
            "5:devices:/x.service\n1:name=systemd:/system.slice/ovn-ovsdb-server-nb.service\n0::/\n",
            UNIT,
            id="the hierarchy of systemd counts",
        ),
        pytest.param(
            f"0::/docker/{ID}/system.slice/ovn-ovsdb-server-nb.service\n",
            Supervisor("container", ID[:12], "docker"),
            id="a unit that only a container has",
        ),
        pytest.param(
            f"0::/docker/{ID}/docker/{ID.replace('c', 'd')}\n",
            Supervisor("container", ID[:12], "docker"),
            id="a container in a container",
        ),
        pytest.param(
            "0::/machine.slice/systemd-nspawn@db1.service/payload/system.slice/ovn-ovsdb-server-nb.service\n",
            UNIT,
            id="a unit of a machine, seen from below",
        ),
        pytest.param("0::/system.slice/ovn-ovsdb-server-nb.service/child\n", UNIT, id="a group below a unit"),
        pytest.param(
            f"0::/system.slice/docker-{ID}.scope\n",
            Supervisor("container", ID[:12], "docker"),
            id="docker with systemd",
        ),
        pytest.param(f"0::/docker/{ID}\n", Supervisor("container", ID[:12], "docker"), id="docker without systemd"),
        pytest.param(
            f"0::/machine.slice/libpod-{ID}.scope/container\n", Supervisor("container", ID[:12], "podman"), id="podman"
        ),
        pytest.param(
            f"0::/system.slice/kolla-ovn_nb_db-container.service/libpod-payload-{ID}\n",
            Supervisor("container", ID[:12], "podman", "kolla-ovn_nb_db-container.service"),
            id="podman in a unit",
        ),
        pytest.param(
            f"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope\n",
            Supervisor("container", ID[:12], "podman"),
            id="podman of a user",
        ),
        pytest.param(
            f"0::/system.slice/docker.service/docker/{ID}\n",
            Supervisor("container", ID[:12], "docker"),
            id="the unit of the engine",
        ),
        pytest.param(
            f"0::/system.slice/containerd-{ID}.scope\n",
            Supervisor("container", ID[:12], ""),
            id="an engine without a command",
        ),
        pytest.param(
            f"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope\n", Supervisor("pod"), id="a pod"
        ),
        pytest.param("0::/user.slice/user-0.slice/session-3.scope\n", Supervisor("none"), id="a login"),
        pytest.param("0::/\n", Supervisor("none"), id="no group"),
        pytest.param("", Supervisor("none"), id="nothing to read"),
    ],
)
def test_what_keeps_it_running(text: str, supervisor: Supervisor) -> None:
    assert parse_cgroup(text) == supervisor


OTHER = "e" * 64


@pytest.mark.parametrize(
    ("text", "own", "supervisor"),
    [
        pytest.param(
            f"0::/docker/{ID}/system.slice/ovn-ovsdb-server-nb.service\n",
            f"0::/docker/{ID}/init.scope\n",
            UNIT,
            id="a unit",
        ),
        pytest.param(f"0::/docker/{ID}\n", f"0::/docker/{ID}\n", Supervisor("none"), id="by hand"),
        pytest.param(
            f"0::/docker/{ID}/docker/{OTHER}\n",
            f"0::/docker/{ID}\n",
            Supervisor("container", OTHER[:12], "docker"),
            id="a container",
        ),
        pytest.param(
            f"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope/system.slice/ovn-ovsdb-server-nb.service\n",
            f"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope\n",
            UNIT,
            id="a unit of a pod",
        ),
        pytest.param(
            f"0::/kubepods.slice/kubepods-pod2.slice/cri-containerd-{OTHER}.scope\n",
            f"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope\n",
            Supervisor("pod"),
            id="another pod",
        ),
    ],
)
def test_the_container_that_we_are_in_is_the_host(text: str, own: str, supervisor: Supervisor) -> None:
    assert parse_cgroup(text, own) == supervisor


@pytest.mark.parametrize(
    ("supervisor", "command", "text"),
    [
        (UNIT, "systemctl disable --now ovn-ovsdb-server-nb.service", "ovn-ovsdb-server-nb.service"),
        (
            Supervisor("container", "ovn_nb_db", "docker"),
            "docker update --restart=no ovn_nb_db && docker stop ovn_nb_db",
            "container ovn_nb_db",
        ),
        (
            Supervisor("container", "ovn_nb_db", "podman"),
            "podman stop ovn_nb_db, and keep its unit, if it has one, from starting it again",
            "container ovn_nb_db",
        ),
        (
            Supervisor("container", "ovn_nb_db", "podman", "kolla-ovn_nb_db-container.service"),
            "systemctl disable --now kolla-ovn_nb_db-container.service",
            "container ovn_nb_db",
        ),
        (Supervisor("container", "0123"), "", "container 0123"),
        (Supervisor("pod"), "", "a pod"),
        (Supervisor("none"), "ovs-appctl -t /run/ovn/x.ctl exit", "no unit"),
    ],
    ids=lambda value: value.kind if isinstance(value, Supervisor) else "",
)
def test_the_command_that_ends_it(supervisor: Supervisor, command: str, text: str) -> None:
    assert (supervisor.stop_command("/run/ovn/x.ctl"), str(supervisor)) == (command, text)
