"""Whether waiting for a pod helps."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._pods.outlook import outlook, seconds

Object = dict[str, t.Any]
NAME, OWNER = "ovn-northbound-1", "ovn-northbound"
START = "2026-01-01T00:00:00Z"
QUOTA = f'create Pod {NAME} in StatefulSet {OWNER} failed error: pods "{NAME}" is forbidden: exceeded quota: small'


def pod(age: Object | None = None, **status: t.Any) -> Object:
    return {"metadata": {"name": NAME, "creationTimestamp": START, **(age or {})}, "status": status}


def waits(reason: str, restarts: int = 0) -> Object:
    state = {"waiting": {"reason": reason, "message": "no such image"}}
    return {"containerStatuses": [{"name": "database", "state": state, "restartCount": restarts}]}


def unscheduled(reason: str = "Unschedulable") -> Object:
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": "0/3 nodes are available"}
    return {"conditions": [{**condition, "lastTransitionTime": START}]}


def event(kind: str, name: str, reason: str, message: str) -> Object:
    about = {"kind": kind, "name": name}
    return {"metadata": {}, "type": "Warning", "reason": reason, "message": message, "involvedObject": about}


@pytest.mark.parametrize(
    ("there", "events", "after", "hopeless", "words"),
    [
        (pod(**unscheduled()), [], 5, False, "has no node: 0/3 nodes are available"),
        (pod(**unscheduled()), [], 30, True, "has no node: 0/3 nodes are available"),
        (pod(**unscheduled()), [event("Pod", NAME, "TriggeredScaleUp", "1->2")], 90, False, "has no node"),
        (pod(**waits("ImagePullBackOff")), [], 5, False, "ImagePullBackOff: no such image"),
        (pod(**waits("ImagePullBackOff")), [], 30, True, "ImagePullBackOff: no such image"),
        (pod(**waits("ErrImagePull")), [], 30, True, "ErrImagePull"),
        (pod(**waits("InvalidImageName")), [], 1, True, "InvalidImageName"),
        (pod(**waits("CrashLoopBackOff", 1)), [], 300, False, "CrashLoopBackOff"),
        (pod(**waits("CrashLoopBackOff", 3)), [], 300, True, "CrashLoopBackOff"),
        (pod(**waits("ContainerCreating")), [], 300, False, ""),
        (
            pod(**waits("ContainerCreating")),
            [event("Pod", NAME, "FailedMount", 'secret "ovn-tls" not found')],
            30,
            False,
            'secret "ovn-tls" not found',
        ),
        (
            pod(**waits("ContainerCreating")),
            [event("Pod", NAME, "FailedMount", 'secret "ovn-tls" not found')],
            90,
            True,
            'secret "ovn-tls" not found',
        ),
        (
            pod(**unscheduled()),
            [event("PersistentVolumeClaim", f"data-{NAME}", "ProvisioningFailed", 'storageclass "x" not found')],
            30,
            True,
            f'PersistentVolumeClaim data-{NAME}: storageclass "x" not found',
        ),
        (pod({"deletionTimestamp": START}), [], 5, False, "does not end"),
        (pod({"deletionTimestamp": START}), [], 60, True, "does not end"),
        (None, [], 300, False, ""),
        (None, [event("StatefulSet", OWNER, "FailedCreate", QUOTA)], 1, True, "exceeded quota: small"),
        (
            None,
            [event("StatefulSet", OWNER, "FailedCreate", QUOTA.replace(NAME, f"{OWNER}-2"))],
            300,
            False,
            "",
        ),
    ],
    ids=[
        "its volume may be in the making",
        "no node",
        "a node is ordered",
        "the registry may be busy",
        "no image",
        "no image, at the next attempt",
        "no name of an image",
        "crashed once",
        "crashes again and again",
        "is being made",
        "a Secret that may come",
        "a Secret that does not come",
        "no storage class",
        "is on its way out",
        "its node is gone",
        "nobody has made it yet",
        "a full quota",
        "a full quota for another one",
    ],
)
def test_outlook(there: Object | None, events: list[Object], after: float, hopeless: bool, words: str) -> None:
    found = outlook(NAME, OWNER, there, events, seconds(START) + after)
    assert found.hopeless is hopeless
    assert (words in found.words) if words else found.words == ""


def test_a_moment_with_fractions() -> None:
    assert seconds("2026-01-01T00:00:01.500000Z") - seconds(START) == 1
    assert seconds(None) == 0
