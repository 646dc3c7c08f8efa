"""ovn_cluster on a real API server with real database servers: a control plane of one grows to three and to five."""

from __future__ import annotations

import typing as t

import _control_plane
from _control_plane import SPEC, ControlPlane, running_pods, touched

plane = _control_plane.plane  # a fixture


def test_one_member_grows_to_three_and_to_five(plane: ControlPlane, daemons: None) -> None:
    """Each step is predicted, keeps the cluster with its members, and then nothing is left to do."""

    def options(size: int) -> dict[str, t.Any]:
        spec = {**SPEC, "northbound": {"replicas": size, "electionTimer": 2000}, "southbound": {"replicas": 1}}
        return {"spec": spec, "wait": False, "wait_timeout": 180}

    with running_pods(plane, {"northbound": 5, "southbound": 1}) as kubelet:
        plane(**options(1))
        former = plane.recorded("northbound")
        assert list(former["members"]) == ["ovn-northbound-0"]
        for size in (3, 5):
            predicted = plane(check=True, **options(size))
            grown = plane(**options(size))
            assert touched(grown)["StatefulSet ovn-northbound"] == "changed"
            assert touched(grown) == touched(predicted)
            assert grown["steps"] == predicted["steps"]
            record = plane.recorded("northbound")
            assert record["cid"] == former["cid"]
            assert record["permit"] is None
            assert len(record["members"]) == size
            assert {member["state"] for member in record["members"].values()} == {"confirmed"}
            sids = {name: member["sid"] for name, member in record["members"].items()}
            assert sids.items() >= {name: member["sid"] for name, member in former["members"].items()}.items()
            assert len(set(sids.values())) == size
            assert grown["northbound"]["verdict"] == "healthy"
            assert {kubelet.members[name].cid for name in sids} == {former["cid"]}
            again = plane(**options(size))
            assert not again["changed"]
            assert again["steps"] == []
            former = record
