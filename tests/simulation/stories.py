"""Named stories: what was found once, replayed for ever. The letters are those of the review that collected the first ones."""

from __future__ import annotations

import typing as t

from .events import Event

RUN: Event = ("run", (), ())


def during(*pairs: tuple[int, Event]) -> Event:
    """A run during which other things happen, each at the point of its number."""
    return ("run", (), pairs)


FULL_DISKS: tuple[Event, ...] = (("fill", "m1"), ("fill", "m2"), ("write",), ("time",))


class Named(t.NamedTuple):
    """`title` is what has to hold. After the events, faults stop and the databases have to become healthy, or the refusal has to be right."""

    name: str
    title: str
    start: str
    events: tuple[Event, ...]


STORIES: tuple[Named, ...] = (
    Named(
        "D1",
        "an old copy of a member's disk never leads without acknowledged writes",
        "three machines",
        (("snapshot", "m3"), ("down", "m2"), ("write",), ("down", "m1"), ("restore", "m3"), ("boot", "m2"), ("time",)),
    ),
    Named(
        "D1 two of three",
        "two old copies never lead without acknowledged writes",
        "three machines",
        (
            *(("snapshot", "m2"), ("snapshot", "m3"), ("write",), ("down", "m1")),
            *(("down", "m2"), ("restore", "m3"), ("restore", "m2"), ("time",)),
        ),
    ),
    Named(
        "D1 in pods",
        "an old copy of a volume under a new pod never leads without acknowledged writes",
        "three pods",
        (
            *(("snapshot", "ovn-northbound-2"), ("down", "ovn-northbound-1"), ("write",), ("down", "ovn-northbound-0")),
            *(("restore", "ovn-northbound-2"), ("boot", "ovn-northbound-1"), ("time",)),
        ),
    ),
    Named(
        "D1 with entries that were never committed",
        "an old copy whose log is as long, but of an older term, never votes newer writes away",
        "three machines",
        (
            *(("cut", "m1"), ("burst", "m1"), ("snapshot", "m1"), ("heal",), ("down", "m3"), ("write",), ("write",)),
            *(("down", "m2"), ("restore", "m1"), ("boot", "m3")),
        ),
    ),
    *(
        Named(
            f"D2 killed at point {point}",
            "a joined member that is still expected is not written off when the control plane is declared again",
            "new pods",
            (during((point, ("kill",))), ("recreate",), ("clock", 1000), RUN, ("write",)),
        )
        for point in range(8, 22)
    ),
    Named(
        "D3",
        "a run that is refused for an address has written nothing",
        "three machines",
        (("wrong_address", "m2"), ("bad_settings",), RUN),
    ),
    Named(
        "D5 follower",
        "a follower with bad settings gets the corrected ones before a gate waits for it",
        "three machines",
        (("bad_settings",), RUN, ("lead", "m3"), ("good_settings",), RUN),
    ),
    Named(
        "D5 joiner",
        "a joiner with bad settings gets the corrected ones",
        "new machines",
        (during((12, ("bad_settings",))), RUN, RUN),
    ),
    Named(
        "D5 no leader",
        "corrected settings reach a cluster whose members all run with bad ones",
        "three machines",
        (
            ("bad_settings",),
            ("down", "m1"),
            ("down", "m2"),
            ("down", "m3"),
            ("install",),
            ("boot", "m1"),
            ("boot", "m2"),
            ("boot", "m3"),
        ),
    ),
    Named(
        "D6",
        "new central hosts in the inventory do not found a second cluster",
        "other hosts",
        (("replace_hosts", "m4", "m5", "m6"), RUN),
    ),
    Named(
        "D7",
        "a run that slept longer than its Lease does not scale members away",
        "growing pods",
        (during((1, ("pause",)), (1, ("scale", 3)), (1, RUN)),),
    ),
    *(
        Named(
            f"D8 crash at point {point}",
            "no step on one database rests on an observation from before a step on the other",
            "two databases",
            (("good_settings",), during((point, ("crash", "m3")))),
        )
        for point in range(1, 30)
    ),
    Named(
        "cloned disk",
        "a damaged copy of a live member's disk is no reason to kick that member",
        "three machines",
        (("clone", "m3", "m2"), ("damage", "m2"), RUN),
    ),
    Named(
        "bad from the start",
        "settings that were bad from the start are corrected on the only member as well",
        "new machines",
        (("bad_settings",), RUN),
    ),
    Named(
        "wrong address from the start",
        "the address of a member that never joined follows the inventory",
        "new machines",
        (("wrong_address", "m3"), RUN),
    ),
    Named(
        "lost before it was confirmed",
        "a joined member that loses its file before it is confirmed is replaced",
        "new machines",
        (during((28, ("kill",))), ("unlink", "m3")),
    ),
    Named(
        "adopted with a broken member",
        "a member that is broken when the cluster is adopted is removed and joins",
        "five machines",
        (("damage", "m3"), ("crash", "m2"), ("lose_all_records",)),
    ),
    Named(
        "a disk that is not mounted",
        "a member that comes up without its disk is not replaced, and goes on when it is mounted",
        "three machines",
        (("unmount", "m3"), RUN, ("mount", "m3"), ("down", "m1"), ("write",)),
    ),
    Named(
        "a disk that never comes back",
        "a member whose disk stays away is replaced once the operator accepts the loss",
        "three machines",
        (("unmount", "m3"), RUN),
    ),
    Named(
        "never joined",
        "members that are declared and never joined do not count for the quorum",
        "growing machines",
        (
            *(
                ("scale", 3),
                RUN,
                ("scale", 5),
                during((12, ("kill",))),
                ("lose", "m3"),
                ("bad_settings",),
                ("install",),
            ),
            *(("crash", "m1"), ("crash", "m2"), ("start", "m1"), ("start", "m2")),
        ),
    ),
    *(
        Named(
            f"lost before its copy of the record was written, killed at point {point}",
            "a member that joined again by an older copy of the record is confirmed under its new id",
            "new machines",
            (during((point, ("kill",))), ("lose", "m3"), ("start", "m3")),
        )
        for point in (31, 32)
    ),
    Named(
        "adopted under a wrong address",
        "a member that could not be examined is not adopted under an address that is not its own",
        "five machines",
        (("flaky", "m1"), ("lose_all_records",), ("wrong_address", "m1"), RUN),
    ),
    Named(
        "declared under a wrong address",
        "the address of a member that was held back follows the inventory",
        "growing machines",
        (("scale", 3), ("wrong_address", "m2"), RUN),
    ),
    Named(
        "a deleted file and a lost disk",
        "a server that runs on a deleted file does not keep others from being replaced",
        "three machines",
        (("unlink", "m1"), ("lose", "m3"), RUN, ("crash", "m1"), ("write",)),
    ),
    Named(
        "an older copy of the record without a leader",
        "an older copy of the record is written again although nobody leads",
        "three machines",
        (("backup_record", "m3"), ("lose", "m3"), RUN, ("crash", "m3"), ("restore_record", "m3"), ("lose", "m1")),
    ),
    Named(
        "the only file is deleted",
        "a server that runs on a deleted file hands its data to joiners before it ends",
        "new pods",
        (during((9, ("kill",))), during((3, ("unlink", "ovn-northbound-0"))), ("good_settings",)),
    ),
    Named(
        "the only file of the only member is deleted",
        "a server that has the only copy of the data is not restarted",
        "growing pods",
        (("good_settings",), ("unlink", "ovn-northbound-0")),
    ),
    Named(
        "no leader and useless settings",
        "a cluster without a leader is not given settings with which no server starts",
        "two databases",
        (("mute", "m1"), ("mute", "m3"), ("useless_settings",), RUN),
    ),
    Named(
        "joiner on a deleted file",
        "a replaced member that lost its file while it joined is replaced again",
        "five new machines",
        (RUN, ("cut", "m3"), during((4, ("damage", "m3"))), ("unlink", "m3")),
    ),
    Named(
        "joined again while the record says replacing",
        "a member that joined by an older copy of the record is confirmed, although a later run held it back",
        "three machines",
        (
            *(("lose", "m2"), during((16, ("kill",))), ("cut", "m1"), during((7, ("kill",)))),
            *(("start", "m2"), RUN),
        ),
    ),
    Named(
        "followers that do not reach each other",
        "a leader is not stopped while the others could not elect one",
        "three machines",
        (("unlink", "m1"), ("half", "m3", "m2"), RUN),
    ),
    Named(
        "full disk of another member",
        "a member is not stopped while another that counts for the quorum has a full disk",
        "five machines",
        (("cut", "m3"), ("unlink", "m1"), ("fill", "m5"), RUN),
    ),
    Named(
        "full disks of a majority",
        "members that gave up because they could not write come back when there is room again",
        "three machines",
        FULL_DISKS,
    ),
    Named(
        "full disks of a majority of pods",
        "pods that gave up because they could not write come back when there is room again",
        "three pods",
        (*(("fill", f"ovn-northbound-{number}") for number in range(2)), ("write",), ("time",)),
    ),
    Named(
        "fewer declared, no record",
        "a run that sees a follower only says that the cluster has more members than are declared",
        "five pods",
        (("lose_all_records",), ("cut", "ovn-northbound-0"), ("scale", 1)),
    ),
    Named(
        "wrong address of a lost member, no record",
        "the address of a member whose join never took effect follows the declaration",
        "new pods",
        (
            *(RUN, ("wrong_address", "ovn-northbound-2"), ("lose", "ovn-northbound-2")),
            *(("deaf", "ovn-northbound-1"), ("lose_all_records",), RUN),
        ),
    ),
    Named(
        "wrong address while it joins",
        "a joiner whose declared address was wrong for one run is a member after all",
        "new machines",
        (("mute", "m1"), RUN, ("wrong_address", "m2"), RUN),
    ),
    Named(
        "disk of the founder moves",
        "a disk that is moved to another member while the cluster is created is named in the refusal",
        "new pods",
        (during((10, ("move", "ovn-northbound-0", "ovn-northbound-1"))),),
    ),
    Named(
        "two of five by a moved disk",
        "a disk that was moved to another member does not keep both of them from being replaced while a restart is due",
        "five new machines",
        (RUN, ("useless_settings",), ("move", "m3", "m4")),
    ),
    Named(
        "disk moved away, no record",
        "a closed gate names the disk that is away, although the adopted record does not know whose file lay on it",
        "other hosts",
        (("useless_settings",), ("move", "m3", "m6"), ("lose_all_records",)),
    ),
    Named(
        "disk moved to another member, no record",
        "a join that waits for a member whose disk is away names that disk",
        "five machines",
        (("clone", "m5", "m3"), ("lose_all_records",), ("move", "m3", "m5")),
    ),
    Named(
        "removed by hand, but not by a majority",
        "a member is not stopped for a removal that is not committed: the next leader may need it",
        "three machines",
        (("cut", "m2"), during((4, ("kick", "m3")), (29, ("damage", "m1")))),
    ),
    Named(
        "elected by followers that fall behind",
        "what nobody has committed is not missed when its only holder is lost",
        "new pods",
        (
            *(RUN, ("fill", "ovn-northbound-0"), ("slow", "ovn-northbound-1"), ("write",)),
            ("damage", "ovn-northbound-2"),
        ),
    ),
    Named(
        "adopted by one member of five",
        "a member that is cut off and declared alone is not recorded as a cluster of its own",
        "five machines",
        (("scale", 1), ("deaf", "m1"), ("lose_all_records",), RUN, ("move", "m1", "m4")),
    ),
    Named(
        "adopted by three members of five",
        "a cluster is not recorded without members that its leader lists, not even to start one that is declared",
        "five machines",
        (("lose_all_records",), ("crash", "m3"), ("scale", 1)),
    ),
    Named(
        "containers are taken over",
        "clients write while each member gives way to a new one, and nothing is lost",
        "three containers",
        (during(*((point, ("write",)) for point in range(1, 72, 5))), ("crash", "m1"), ("write",)),
    ),
    *(
        Named(
            f"a container is started again, the run killed at point {point}",
            "a container that starts again while it is replaced, removed or followed by ours never counts as a member of old",
            "three containers",
            (during((point, ("kill",))), ("container", "m2"), ("write",), RUN),
        )
        for point in range(5, 32)
    ),
    *(
        Named(
            f"a container is started again at point {point} of the run that replaces it",
            "a container that starts again under the run that replaces it is stopped again, and its id removed once",
            "three containers",
            (during((point, ("container", "m2"))), ("write",)),
        )
        for point in range(11, 26)
    ),
    *(
        Named(
            f"another member ends at point {point} of an adoption",
            "an adoption waits for a member that is away before it replaces another",
            "three containers",
            (during((point, ("crash", "m3"))), ("container", "m3"), ("write",)),
        )
        for point in range(4, 26, 3)
    ),
    Named(
        "a container that is down",
        "a member that may only be down is not replaced by an adoption, but after it was started",
        "three containers",
        (("crash", "m3"), RUN, ("container", "m3"), RUN),
    ),
    Named(
        "the leader is adopted last",
        "a leadership that moves during an adoption changes its order",
        "three containers",
        (("lead", "m3"), during((4, ("lead", "m2")), (24, ("lead", "m3"))), ("write",)),
    ),
    Named(
        "all containers start again",
        "containers that were replaced elect nobody among themselves while ours are down",
        "three containers",
        (
            *(RUN, ("write",), ("crash", "m1"), ("crash", "m2"), ("crash", "m3")),
            *(("container", "m1"), ("container", "m2"), ("container", "m3"), ("write",)),
        ),
    ),
    Named(
        "a container instead of a lost member",
        "a container that starts where our member has lost its file is stopped, and our old server id removed",
        "three containers",
        (RUN, ("lose", "m2"), ("container", "m2"), RUN),
    ),
    Named(
        "a container that is stopped while another loses its volume",
        "a refusal without a leader names the containers that a run has stopped and not replaced",
        "three containers",
        (during((12, ("kill",))), ("lose", "m1")),
    ),
    Named(
        "removed by hand while another is replaced",
        "a run that waits for a leader names the container that it has stopped",
        "three containers",
        (during((9, ("kick", "m3"))),),
    ),
    Named(
        "the last container of three",
        "a container that leads alone is not taken for a cluster of one while the others could not be examined",
        "three containers",
        (during((13, ("container", "m2"))), ("kick", "m1")),
    ),
    Named(
        "a disk that is not mounted, before the join on it is recorded",
        "a member that has joined again and comes up without its disk before a run has confirmed it is not removed",
        "three machines",
        (("lose", "m2"), during((21, ("kill",))), ("unmount", "m2")),
    ),
)

# Found, and not corrected yet: each fails until it is, and then belongs above. The explorers go on past violations of these kinds.
OPEN: tuple[Named, ...] = ()
