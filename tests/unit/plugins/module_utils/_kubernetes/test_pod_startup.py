"""Whether waiting for a pod helps."""

from __future__ import annotations

import time
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.pod_startup import assess_startup
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.timestamps import unix_seconds

Object = dict[str, t.Any]
NAME, OWNER = "ovn-northbound-1", "ovn-northbound"
START = unix_seconds("2026-01-01T00:00:00Z")
QUOTA = f'create Pod {NAME} in StatefulSet {OWNER} failed error: pods "{NAME}" is forbidden: exceeded quota: small'
SECRET = 'MountVolume.SetUp failed for volume "tls": secret "ovn-tls" not found'
CLASS = 'storageclass "x" not found'
NO_CLASS = "no persistent volumes available for this claim and no storage class is set"
MULTI = 'Multi-Attach error for volume "pvc-1": Volume is already exclusively attached to one node'
WAITING = "Unable to attach or mount volumes: unmounted volumes=[data]: timed out waiting for the condition"
PULL = 'Failed to pull image "no-ovn": not found'
UNBOUND = "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims"


def stamp(at: float) -> str:
    """So many seconds after the pod was made."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(START + at))


def pod(deleted: bool = False, **status: t.Any) -> Object:
    gone = {"deletionTimestamp": stamp(0)} if deleted else {}
    return {"metadata": {"name": NAME, "uid": "new", "creationTimestamp": stamp(0), **gone}, "status": status}


def waits(reason: str, restarts: int = 0, lived: float = 2) -> Object:
    state = {"waiting": {"reason": reason, "message": "no such image"}}
    last = {"terminated": {"startedAt": stamp(10), "finishedAt": stamp(10 + lived)}} if restarts else {}
    return {"containerStatuses": [{"name": "database", "state": state, "lastState": last, "restartCount": restarts}]}


def unscheduled(message: str = "0/3 nodes are available") -> Object:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"conditions": [{**condition, "lastTransitionTime": stamp(0)}]}


def event(
    reason: str, message: str, first: float = 1, last: float | None = None, kind: str = "Pod", **more: t.Any
) -> Object:
    """`last` None: it was seen once."""
    names = {"Pod": NAME, "StatefulSet": OWNER, "PersistentVolumeClaim": f"data-{NAME}"}
    return {
        "metadata": {},
        "type": "Warning",
        "reason": reason,
        "message": message,
        "firstTimestamp": stamp(first),
        "lastTimestamp": stamp(first if last is None else last),
        "involvedObject": {"kind": kind, "name": names[kind], "uid": more.pop("uid", "new")},
        **more,
    }


def claim(reason: str, message: str, at: float) -> Object:
    return event(reason, message, at, kind="PersistentVolumeClaim", uid="claim")


def refused(at: float, message: str = QUOTA, **more: t.Any) -> Object:
    return event("FailedCreate", message, -3000, at, kind="StatefulSet", uid="set", **more)


def series(at: float) -> Object:
    """As the newer interface for events puts it."""
    told = {"series": {"count": 7, "lastObservedTime": f"{stamp(at)[:-1]}.000000Z"}, "eventTime": stamp(-3000)}
    return {**refused(-3000), "firstTimestamp": None, "lastTimestamp": None, **told}


IMAGE, CREATING = pod(**waits("ErrImagePull")), pod(**waits("ContainerCreating"))

BACKS_OFF, UNMADE = pod(**waits("ImagePullBackOff")), pod(**unscheduled(UNBOUND))
PULLS = [event("Failed", PULL, 1, 300, count=5)]


class Case(t.NamedTuple):
    about: str
    there: Object | None
    events: list[Object]
    after: float  # seconds since the pod was made
    unrecoverable: bool
    words: str
    since: float | None = 0  # waited for, of a pod that is missing: the controller was asked
    needed: bool = True


CASES = [
    Case("a node may come", pod(**unscheduled()), [], 5, False, "has no node: 0/3 nodes are available"),
    Case("no node", pod(**unscheduled()), [], 30, True, "has no node: 0/3 nodes are available"),
    Case("a node is ordered", pod(**unscheduled()), [event("TriggeredScaleUp", "1->2")], 90, False, "has no node"),
    Case(
        "a node was ordered for the pod before it",
        pod(**unscheduled()),
        [event("TriggeredScaleUp", "1->2", uid="old")],
        90,
        True,
        "has no node",
    ),
    Case("no node, before the run", pod(**unscheduled()), [], 605, False, "has no node", 600),
    Case("no node, before the run and in it", pod(**unscheduled()), [], 625, True, "has no node", 600),
    Case("no node, and nobody needs the pod", pod(**unscheduled()), [], 605, True, "has no node", 600, False),
    Case("its volume is in the making", pod(**unscheduled(UNBOUND)), [], 90, False, "unbound immediate"),
    Case("nobody makes its volume", pod(**unscheduled(UNBOUND)), [], 130, True, "unbound immediate"),
    Case(
        "no storage class",
        pod(**unscheduled(UNBOUND)),
        [claim("ProvisioningFailed", CLASS, 25)],
        30,
        True,
        f"PersistentVolumeClaim data-{NAME}: {CLASS}",
    ),
    Case(
        "no default storage class",
        pod(**unscheduled(UNBOUND)),
        [claim("FailedBinding", NO_CLASS, 25)],
        30,
        True,
        "unbound immediate",
    ),
    Case("no storage class, before the run", UNMADE, [claim("ProvisioningFailed", CLASS, 588)], 605, False, CLASS, 600),
    Case("no storage class, in the run", UNMADE, [claim("ProvisioningFailed", CLASS, 603)], 625, True, CLASS, 600),
    Case("no storage class, long before", UNMADE, [claim("ProvisioningFailed", CLASS, 99)], 655, False, CLASS, 600),
    Case("no storage class, and no new try", UNMADE, [claim("ProvisioningFailed", CLASS, 99)], 665, True, CLASS, 600),
    Case(
        "no storage class, and the pod is not needed",
        UNMADE,
        [claim("ProvisioningFailed", CLASS, 588)],
        605,
        True,
        CLASS,
        600,
        False,
    ),
    Case(
        "its volume is in the making at last",
        UNMADE,
        [claim("ProvisioningFailed", CLASS, 588), claim("ExternalProvisioning", "waits for a volume", 601)],
        665,
        False,
        CLASS,
        600,
    ),
    Case(
        "there is a storage class by now",
        pod(**unscheduled(UNBOUND)),
        [claim("ProvisioningFailed", CLASS, -900)],
        30,
        False,
        "unbound immediate",
    ),
    Case("the registry may be busy", pod(**waits("ImagePullBackOff")), [event("Failed", PULL)], 5, False, "BackOff"),
    Case("no image", pod(**waits("ImagePullBackOff")), [event("Failed", PULL)], 30, True, "ImagePullBackOff: no such"),
    Case("no image, and no right to read events", pod(**waits("ImagePullBackOff")), [], 30, True, "ImagePullBackOff"),
    Case(
        "the first pull fails, long after the pod was made",
        IMAGE,
        [event("Failed", PULL, 299), event("Failed", "Error: ErrImagePull", 299)],
        300,
        False,
        "ErrImagePull",
    ),
    Case(
        "the first pause of a pod that was made long ago",
        pod(**waits("ImagePullBackOff")),
        [event("Failed", PULL, 299)],
        303,
        False,
        "ImagePullBackOff",
    ),
    Case("the second pull fails", IMAGE, [event("Failed", PULL, 280, 299, count=2)], 300, True, "ErrImagePull"),
    Case(
        "two pulls of the pod before it",
        IMAGE,
        [event("Failed", PULL, -99, -90, count=2, uid="old")],
        9,
        False,
        "ErrImagePull",
    ),
    Case("no image, before the run", BACKS_OFF, PULLS, 505, False, "ImagePullBackOff", 500),
    Case("no image, before the run and where nobody needs the pod", BACKS_OFF, PULLS, 505, True, "Back", 500, False),
    Case("no image, before the run and after two attempts' time", BACKS_OFF, PULLS, 525, True, "Back", 500),
    Case("a pull fails in the run", BACKS_OFF, [event("Failed", PULL, 1, 504, count=6)], 505, True, "Back", 500),
    Case("an image that nobody pulls may come by hand", pod(**waits("ErrImageNeverPull")), [], 505, False, "Err", 500),
    Case("an image that nobody pulls", pod(**waits("ErrImageNeverPull")), [], 530, True, "ErrImageNeverPull", 500),
    Case("no name of an image", pod(**waits("InvalidImageName")), [], 1, True, "InvalidImageName"),
    Case("crashed once", pod(**waits("CrashLoopBackOff", 1)), [], 300, False, "CrashLoopBackOff"),
    Case("crashes at once again and again", pod(**waits("CrashLoopBackOff", 3)), [], 300, True, "CrashLoopBackOff"),
    Case("crashed before the run", pod(**waits("CrashLoopBackOff", 3)), [], 505, False, "CrashLoop", 500),
    Case("crashed before the run, and pauses", pod(**waits("CrashLoopBackOff", 3)), [], 570, True, "CrashLoop", 500),
    Case("killed after a long life", pod(**waits("CrashLoopBackOff", 9, 80)), [], 300, False, "CrashLoopBackOff"),
    Case("is being made", CREATING, [], 300, False, ""),
    Case("a Secret that may come", CREATING, [event("FailedMount", SECRET)], 30, False, '"ovn-tls" not found'),
    Case("a Secret that does not come", CREATING, [event("FailedMount", SECRET, 1, 85)], 90, True, "not found"),
    Case("a Secret that was missed late", CREATING, [event("FailedMount", SECRET, 80, 85)], 90, False, "not found"),
    Case(
        "a Secret that was missed before anybody waited",
        CREATING,
        [event("FailedMount", SECRET, 1, 85)],
        110,
        False,
        "not found",
        100,
    ),
    Case(
        "a Secret that the pod before it missed",
        CREATING,
        [event("FailedMount", SECRET, 1, 85, uid="old")],
        90,
        False,
        "",
    ),
    Case(
        "a dead node has its volume",
        CREATING,
        [event("FailedAttachVolume", MULTI, 1, 290), event("FailedMount", WAITING, 120, 290)],
        300,
        False,
        "Multi-Attach",
    ),
    Case("a node keeps its volume", CREATING, [event("FailedAttachVolume", MULTI, 1, 405)], 410, True, "Multi-Attach"),
    Case("is on its way out", pod(True), [], 5, False, "does not end"),
    Case("its node is gone", pod(True), [], 60, True, "does not end"),
    Case("nobody has made it yet", None, [], 300, False, ""),
    Case("a full quota", None, [refused(101)], 110, True, "exceeded quota: small", 100.9),
    Case("a full quota, told in the second of the question", None, [refused(100)], 110, True, "exceeded", 100.9),
    Case("a full quota, in a series", None, [series(104)], 110, True, "exceeded quota: small", 100.9),
    Case("a quota that was full before", None, [refused(99)], 110, False, "", 100.9),
    Case("a quota that was full before, in a series", None, [series(99)], 110, False, "", 100.9),
    Case("its controller was asked just now", None, [refused(101)], 102, False, "exceeded quota: small", 100.9),
    Case("its controller was not asked yet", None, [refused(101)], 110, False, "", None),
    Case(
        "a full quota for another one",
        None,
        [refused(101, QUOTA.replace(NAME, f"{OWNER}-2"))],
        300,
        False,
        "",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.about for case in CASES])
def test_outlook(case: Case) -> None:
    since = None if case.since is None else START + case.since
    found = assess_startup(NAME, OWNER, case.there, case.events, START + case.after, since, needed=case.needed)
    assert found.unrecoverable is case.unrecoverable
    assert (case.words in found.message) if case.words else found.message == ""
