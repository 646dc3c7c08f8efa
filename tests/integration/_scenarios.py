"""One table of what happens to three members and what runs make of it: for the simulation, for servers on loopback, and for pods on an API server.

The steps that a run takes are the planner's, so they have to be the same everywhere, in the same order and the same words.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError


class Backend(t.Protocol):
    """Three members of a Northbound database, by number from 1 on, and the runs over them."""

    def run(self) -> list[str]:
        """What a run did, a sentence a step; waits and records do not count. `OvnError` with its reason if it ended otherwise."""

    def write(self) -> None:
        """A client writes a row, and the database acknowledges it."""

    def lose(self, number: int) -> None:
        """The disk of a member is gone, and an empty one is in its place."""

    def damage(self, number: int) -> None:
        """The file of a member does not start any more."""

    def rot(self, number: int) -> None:
        """A member is killed, one record of its file is damaged, and its supervisor starts it again."""

    def unlink(self, number: int) -> None:
        """The file of a member is deleted under its server."""

    def copy(self, number: int) -> None:
        """An operator keeps a copy of the disk of a member."""

    def put_back(self, number: int) -> None:
        """The disk of a member is again as it was when it was copied."""

    def crash(self, number: int) -> None:
        """The server of a member is killed, and its supervisor starts it again."""

    def kick(self, number: int) -> None:
        """An operator removes a member from the cluster by hand."""

    def change_settings(self) -> None:
        """The declaration asks for other settings of all servers."""

    def forget(self) -> None:
        """The state record is lost, all copies of it."""

    def rows(self) -> dict[int, int]:
        """How many of the written rows each member has that takes part."""

    def cluster(self) -> str:
        """The cluster id."""


class Expected(t.NamedTuple):
    """`steps` are regular expressions, members are their numbers. `refusal` is a part of the reason."""

    steps: tuple[str, ...] = ()
    refusal: str = ""


Act = tuple[str, int]
NOTHING = Expected()


class Scenario(t.NamedTuple):
    """`acts` and a run come after a first run and a written row; then another run finds nothing to do, unless that one was refused."""

    name: str
    acts: tuple[Act, ...]
    expected: Expected = NOTHING


FIRST_RUN = Expected(("create the northbound cluster on 1", "join 2 to northbound", "join 3 to northbound"))


def _replaced(number: int) -> Expected:
    return Expected((rf"remove the lost member {number} \(SID\) from northbound", f"join {number} to northbound"))


NO_QUORUM = Expected(refusal="northbound has no quorum")

SCENARIOS: tuple[Scenario, ...] = (
    Scenario("nothing happens, and nothing is done", ()),
    Scenario("a crashed follower is left alone", (("crash", 2), ("write", 0))),
    Scenario("a crashed first member is left alone", (("crash", 1),)),
    Scenario("a lost disk is replaced", (("lose", 3), ("write", 0)), _replaced(3)),
    Scenario(
        "the first member's lost disk is replaced, and nobody creates a second cluster", (("lose", 1),), _replaced(1)
    ),
    Scenario("two lost disks of three are refused", (("lose", 2), ("lose", 3)), NO_QUORUM),
    Scenario("a damaged file is replaced", (("damage", 2),), _replaced(2)),
    Scenario("a file with a damaged record is replaced", (("write", 0), ("rot", 2), ("write", 0)), _replaced(2)),
    Scenario("an old copy is replaced", (("copy", 2), ("write", 0), ("put_back", 2)), _replaced(2)),
    Scenario(
        "an old copy of the first member is replaced",
        (("copy", 1), ("write", 0), ("put_back", 1), ("write", 0)),
        _replaced(1),
    ),
    Scenario(
        "an old copy from before the member joined again is replaced",
        (("copy", 2), ("lose", 2), ("run", 0), ("put_back", 2)),
        _replaced(2),
    ),
    Scenario(
        "a member that was removed by hand is stopped and joins again",
        (("kick", 3),),
        Expected(("stop northbound on 3: it has to join again", "join 3 to northbound")),
    ),
    Scenario(
        "a removed member without a file is not waited for when the record is lost",
        (("kick", 3), ("unlink", 3), ("forget", 0)),
        Expected(("stop northbound on 3: it has to join again", "join 3 to northbound")),
    ),
    Scenario(
        "changed settings restart all, one after the other",
        (("change_settings", 0),),
        Expected(
            (
                "restart northbound on [123]: .*",
                "restart northbound on [123]: .*",
                "restart northbound on [123]: .*",
            )
        ),
    ),
    Scenario("a lost record is read from the members", (("forget", 0),)),
    Scenario(
        "of a lost record and a lost disk, the members know who is to be removed",
        (("lose", 3), ("forget", 0)),
        Expected(
            (r"remove the (ghost [0-9a-f]{4} at .*|lost member 3 \(SID\)) from northbound", "join 3 to northbound")
        ),
    ),
)


def play(scenario: Scenario, backend: Backend) -> None:
    """A refusal leaves the rows that there are; otherwise all members have all of them, and the cluster is the same."""
    _expect(FIRST_RUN, backend)
    backend.write()
    cluster, written = backend.cluster(), 1
    for name, number in scenario.acts:
        method = getattr(backend, name)
        method(number) if number else method()
        written += name == "write"
    _expect(scenario.expected, backend)
    if scenario.expected.refusal:
        assert set(backend.rows().values()) <= {written}
        return
    _expect(NOTHING, backend)
    assert backend.cluster() == cluster
    rows = backend.rows()
    assert rows == dict.fromkeys((1, 2, 3), written), f"rows of each member: {rows}"


def plain(steps: t.Iterable[str], members: t.Sequence[str]) -> list[str]:
    """The same with numbers instead of the names of members, and without server ids. A step that was taken twice, because something moved, counts once."""
    found = list[str]()
    for step in steps:
        for number, name in enumerate(members, 1):
            step = re.sub(rf"\b{re.escape(name)}\b", str(number), step)
        step = re.sub(r"\([0-9a-f]{4}[-0-9a-f]*\)", "(SID)", step)
        if found[-1:] != [step]:
            found.append(step)
    return found


def _expect(expected: Expected, backend: Backend) -> None:
    try:
        steps, refusal = backend.run(), ""
    except OvnError as e:
        steps, refusal = [], str(e)
    assert bool(refusal) == bool(expected.refusal), refusal or f"not refused, but done: {steps}"
    assert expected.refusal in refusal, refusal
    same = len(steps) == len(expected.steps) and all(re.fullmatch(p, step) for p, step in zip(expected.steps, steps))
    assert same, f"expected {list(expected.steps)}, seen {steps}"
