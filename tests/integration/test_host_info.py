"""ovn_host_info says what the modules would say one by one, and changes nothing."""

from __future__ import annotations

import os
import pathlib
import time
import typing as t

from _pki import Pki
from _vswitch import Vswitch
from conftest import MakeCluster, RunModule, run, until


def test_units_as_ovn_units_in_check_mode(run_module: RunModule, tmp_path: pathlib.Path) -> None:
    there, missing = tmp_path / "there.service", tmp_path / "missing.service"
    there.write_text("[Service]\n")
    there.chmod(0o644)
    calls = [
        {"files": [{"path": str(there), "content": "[Service]\n"}]},
        {"files": [{"path": str(missing), "content": "x"}]},
    ]
    state = run_module("ovn_host_info", {"units": calls})
    assert [one["changed"] for one in state["units"]] == [False, True]
    assert state["units"][1]["actions"] == run_module("ovn_units", calls[1], check=True)["actions"]
    assert (state["due"], state["changed"]) == (True, False)
    assert not missing.exists()
    assert not run_module("ovn_host_info", {"units": calls[:1]})["due"]


def test_texts_of_files_that_are_there(run_module: RunModule, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "system-id.conf"
    file.write_text("compute1\n")
    state = run_module("ovn_host_info", {"files": [str(file), str(tmp_path / "missing")]})
    assert state["files"] == {str(file): "compute1\n"}
    failed = run_module("ovn_host_info", {"files": [str(tmp_path)]}, may_fail=True)
    assert f"{tmp_path} cannot be read: Is a directory" in failed["msg"]


def test_packages_and_daemons(run_module: RunModule, daemons: None) -> None:
    options: dict[str, t.Any] = {"packages": {"packages": ["ovn-central"]}, "daemons": {"required_files": ["/missing"]}}
    state = run_module("ovn_host_info", options)
    alone = run_module("ovn_packages_info", options["packages"])
    assert state["packages"] == {name: alone[name] for name in state["packages"]}
    assert state["packages"]["packages"]["ovn-central"]["installed"]
    assert state["daemons"]["missing_files"] == ["/missing"]
    assert state["members"] == state["units"] == state["databases"] == []


def test_members_and_settings_of_a_database(
    run_module: RunModule, raft_cluster: MakeCluster, tmp_path: pathlib.Path
) -> None:
    leader = raft_cluster(3, election_timer=10_000).leader
    settings = {"database": "northbound", "control_socket": leader.control_socket, "socket": leader.socket}
    run_module("ovn_database", {**settings, "options": {}})  # makes the row of NB_Global
    member = {
        "database": "northbound",
        "member": leader.name,
        "record": str(tmp_path / "record"),
        "environment_file": str(tmp_path / "none.env"),
        "unit": "c5c3-ovn-no-such.service",
    }
    state = run_module(
        "ovn_host_info",
        {
            "members": [member],
            "databases": [{**settings, "options": {"seen": "yes"}}, {**settings, "options": {}}],
        },
    )
    assert [one["changed"] for one in state["databases"]] == [True, False]
    assert state["due"]
    assert state["members"][0]["observation"] == run_module("ovn_raft_member", member)["observation"]
    # Nothing was written, so the same is due again.
    again = run_module("ovn_database", {**settings, "options": {"seen": "yes"}}, check=True)
    assert again["changed"]
    gone = run_module("ovn_host_info", {"databases": [{**settings, "control_socket": str(tmp_path / "gone.ctl")}]})
    assert gone["due"]
    assert gone["databases"][0]["failed"]
    assert "gone.ctl" in gone["databases"][0]["msg"]


def test_wrong_options_are_named(run_module: RunModule) -> None:
    failed = run_module("ovn_host_info", {"members": [{"database": "middlebound"}]}, may_fail=True)
    assert failed["msg"].startswith("members[0]: ")
    assert "middlebound" in failed["msg"]
    failed = run_module("ovn_host_info", {"units": [{"masks": []}]}, may_fail=True)
    assert failed["msg"].startswith("units[0]: ")
    assert "masks" in failed["msg"]


def test_certificates_as_ovn_certificate_in_check_mode(run_module: RunModule, pki: Pki, tmp_path: pathlib.Path) -> None:
    authority = pathlib.Path(pki.ca_certificate).read_text()
    missing = {name: str(tmp_path / name) for name in ("private_key", "certificate", "ca_certificate")}
    wanted = {**missing, "common_name": "central1", "issuer": authority, "ca_bundle": authority}
    state = run_module("ovn_host_info", {"certificates": [wanted]})
    alone = run_module("ovn_certificate", wanted, check=True)
    assert [reason["code"] for reason in alone["reasons"]] == ["missing", "ca_added"]
    assert state["certificates"][0] == {name: alone[name] for name in state["certificates"][0]}
    assert state["due"]
    assert not list(tmp_path.iterdir())
    installed = pki.issue("central1").options()
    for file in installed.values():
        os.utime(file, (1, 1))
    good = {**wanted, **installed, "subject_alt_names": ["central1"], "renew_before": 0}
    ready = run_module("ovn_host_info", {"certificates": [good]})
    assert ready["certificates"][0]["reasons"] == []
    assert not ready["due"]
    pathlib.Path(installed["certificate"]).write_text("none")
    broken = run_module("ovn_host_info", {"certificates": [good]})
    assert [reason["code"] for reason in broken["certificates"][0]["reasons"]] == ["certificate_unreadable"]
    no_names = run_module("ovn_host_info", {"certificates": [missing]})
    assert no_names["certificates"][0]["failed"]
    assert "common_name" in no_names["certificates"][0]["msg"]


def test_a_file_whose_directory_is_missing_may_be_left_out(run_module: RunModule, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "of_a_package" / "ours.conf"
    call = {"files": [{"path": str(file), "content": "x\n", "skip_without_directory": True}]}
    assert not run_module("ovn_host_info", {"units": [call]})["due"]
    assert not run_module("ovn_units", call)["changed"]
    file.parent.mkdir()
    assert run_module("ovn_host_info", {"units": [call]})["due"]
    assert run_module("ovn_units", call)["changed"]
    assert file.read_text() == "x\n"


def test_datapath_of_a_real_daemon(run_module: RunModule, short_dir: pathlib.Path) -> None:
    with Vswitch(short_dir, "hv1") as machine:

        def read() -> dict[str, t.Any]:
            state = run_module("ovn_host_info", {"datapath": {"database": machine.endpoint}}, prefix=machine.prefix)
            return t.cast("dict[str, t.Any]", state["datapath"])

        assert read() is None  # no ovs-vswitchd
        machine.start_vswitchd()
        machine.device("eth1", "eth2")
        for bridge in ("br-int", "br-ex"):
            machine.vsctl("add-br", bridge, "--", "set", "Bridge", bridge, "datapath_type=netdev")
        machine.vsctl("set", "Open_vSwitch", ".", "external_ids:ovn-bridge-mappings=physnet1:br-ex")
        machine.vsctl("add-bond", "br-ex", "bond0", "eth1", "eth2")
        link = ("get", "Interface", "eth2", "link_state")
        until(lambda: machine.vsctl(*link) == "down", "the link state")
        found = read()
        assert (found["type"], found["conntrack_zones"], found["lost"]) == ("netdev", True, 0)
        assert found["handlers"] >= 1
        assert set(found["lookups"]) == {"hit", "missed", "lost"}
        assert found["seconds"] >= 1
        assert found["uplinks_down"] == [
            {"bridge": "br-ex", "networks": ["physnet1"], "ports": {"bond0": "is down (admin_state)"}}
        ]
        for device in ("eth2", "p-eth2"):
            run("ip", "-n", machine.namespace, "link", "set", device, "up")
        until(lambda: machine.vsctl(*link) == "up", "the link")
        assert read()["uplinks_down"] == []
        machine.vsctl("--no-wait", "set", "Open_vSwitch", ".", "other_config:flow-restore-wait=true")
        control = machine.directory / "ovs-vswitchd.ctl"
        for age, judged in (
            (0, (None, None)),
            (66, (None, None)),
            (76, (None, 0)),
        ):  # it waits for flows at most 66 s after its start
            os.utime(control, (time.time() - age,) * 2)
            found = read()
            assert (found["handlers"], found["lost"]) == judged, age
        machine.daemons["ovs-vswitchd"].kill()
        assert read() is None  # its control socket is still there, and its bridges are in the database
