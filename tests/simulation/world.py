"""The modelled world: machines or pods with disks, files, servers and records; no rule of the product is in here.

Replication is instantaneous, and so are elections and joins while the world is quick: `Raft.settle` brings a database to the state that it would reach
if nothing else happened for a few election timers. What makes states interesting are the faults between two such moments. While the world hesitates,
each election and each join takes two of them, and what members say meanwhile can be observed.
"""

from __future__ import annotations

import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Record

from .log import Entry, File, Log

NORTHBOUND = "northbound"
SOUTHBOUND = "southbound"
# A lock or a Lease expires after this many seconds of the model's clock; a paused run sleeps longer.
LOCK_SECONDS = 180
PAUSE_SECONDS = 1000


class Settings(t.NamedTuple):
    """The daemons' settings; bad ones start, but talk to nobody (a certificate of another CA, for example)."""

    revision: int = 1
    good: bool = True
    loads: bool = True  # else no server starts with them (key and certificate do not fit, for example)


# What containers were made with: no run writes that.
OF_CONTAINERS = Settings(0)


class Server(t.NamedTuple):
    """A running ovsdb-server. `linked`: its data is what lies on the disk; not if the file was deleted or replaced under it."""

    data: File
    settings: Settings
    linked: bool = True
    leader: bool = False
    isolated: bool = False  # a leader that lost its majority a moment ago and does not know it yet
    elected: bool = False  # a moment ago
    failed: bool = False  # it could not write its file: from then on it takes part in nothing
    ahead: bool = False  # of its file, which misses what it could not write
    proposed: bool = False  # a leader that has begun a removal a moment ago, while the world hesitates: nobody else has that entry yet
    # While the world hesitates: led (by itself or another), candidate (connected until it tries again), retrying, adding (to the leader's list); or empty.
    phase: str = ""


class Witness(t.NamedTuple):
    """What is known of a member off its disk (R25): term of its last entry and length of its log, and on which disk it lay."""

    sid: str
    position: tuple[int, int]
    disk: int


class Client(t.NamedTuple):
    """What the clients of a database go by: addresses that they were given, and the highest index that they saw (R41)."""

    addresses: frozenset[str] = frozenset()
    index: int = 0


class Slot:
    """One member of one database on one host."""

    __slots__ = (
        "accepted",
        "aside",
        "claim",
        "container",
        "disk",
        "enabled",
        "file",
        "full",
        "older_record",
        "record",
        "server",
        "settings",
        "slow",
        "snapshot",
        "tool_fails",
        "trails",
        "volume",
        "waits",
        "witness",
        "witnesses",
    )

    def __init__(self) -> None:
        self.file: File | None = None
        self.disk = 0
        self.snapshot: tuple[File | None, int] | None = None
        self.server: Server | None = None
        self.record: Record | None = None
        self.older_record: Record | None = None  # what a backup of the record holds
        self.settings: Settings | None = None
        self.witness: Witness | None = None
        self.witnesses: tuple[
            tuple[str, int], ...
        ] = ()  # sid and length of the log of every member, as this host has seen them
        self.slow = False
        self.trails = False  # under steady writes: at any moment some entries behind, within the tolerance
        self.full = False
        self.tool_fails = False
        self.aside = 0
        self.claim = False  # pods: there is a claim with a volume
        self.waits = ""  # pods: why the launcher waits
        # A container of this member: runs, down, stopped (by a run, so that its engine leaves it alone), started (by somebody all the same); or none.
        self.container = ""
        self.accepted = False  # the operator has said that the container is gone for good
        self.enabled = True  # our unit, from the first start by a run on
        self.volume: File | None = (
            None  # the container's file; while it runs, that is `file`, and what lies in our place is here
        )

    @property
    def contained(self) -> bool:
        """Whether the server that runs is the container's."""
        return self.container in ("runs", "started")

    @property
    def ours(self) -> File | None:
        """What lies where our launcher looks for a file."""
        return self.volume if self.contained else self.file

    def end(self) -> None:
        """The server ends, whosever it is."""
        self.server = None
        if self.contained:
            self.container = "down" if self.container == "runs" else "stopped"
            self.file, self.volume = self.volume, self.file

    def start_container(self) -> None:
        """Its server runs with the file of the container, whatever the cluster thinks of it."""
        if self.server is not None or self.container not in ("down", "stopped") or self.volume is None:
            raise AssertionError("only a container that is down starts, where no server runs")
        self.container, self.accepted = "runs" if self.container == "down" else "started", False
        self.file, self.volume = self.volume, self.file
        self.server = Server(t.cast(File, self.file), OF_CONTAINERS)

    def copy(self) -> Slot:
        other = Slot.__new__(Slot)
        for name in Slot.__slots__:
            setattr(other, name, getattr(self, name))
        return other

    def fail_write(self) -> None:
        """A full disk: the server gives up until somebody restarts it."""
        if self.server is not None:
            self.server = self.server._replace(failed=True, leader=False, isolated=False)

    def write(self, data: File) -> None:
        """What the server writes; it reaches the disk only if the file is still the server's."""
        server = self.server
        if server is None:
            raise AssertionError("only a server writes")
        self.server = server._replace(data=data)
        if server.linked:
            self.file = data


class Held(t.NamedTuple):
    """A lock or a Lease: by which run, until when by the model's clock, and the resourceVersion of the Lease."""

    holder: str
    expires: int
    version: int = 0


class Host:
    """A machine, or the place of a pod."""

    __slots__ = ("address", "lock", "name", "on", "reachable", "slots")

    def __init__(self, name: str, address: str, databases: t.Iterable[str]) -> None:
        self.name, self.address = name, address
        self.slots = {database: Slot() for database in databases}
        self.on = True
        self.reachable = True  # for the run
        self.lock: Held | None = None

    def copy(self) -> Host:
        other = Host.__new__(Host)
        other.name, other.address, other.on, other.reachable, other.lock = (
            self.name,
            self.address,
            self.on,
            self.reachable,
            self.lock,
        )
        other.slots = {database: slot.copy() for database, slot in self.slots.items()}
        return other


class Violation(Exception):
    """A safety or liveness property does not hold; the text says which and why."""


class World:
    """Everything there is. `declared` is the inventory's or the specification's list of hosts."""

    def __init__(
        self, size: int = 3, databases: t.Sequence[str] = (NORTHBOUND,), *, spare: int = 0, pods: bool = False
    ) -> None:
        """`size` declared hosts and `spare` ones. With `pods` the members are pods of one database, named as the StatefulSet names them."""
        self.pods = pods
        self.databases = tuple(databases)
        numbers = range(1, size + spare + 1)
        names = [f"ovn-{databases[0]}-{number - 1}" if pods else f"m{number}" for number in numbers]
        self.hosts = {name: Host(name, f"tcp:192.0.2.{number}:6643", databases) for number, name in zip(numbers, names)}
        self.declared: tuple[str, ...] = tuple(names[:size])
        self.former: tuple[str, ...] = ()  # hosts of members that left, which the inventory still has
        self.retired: dict[str, frozenset[str]] = dict.fromkeys(databases, frozenset())  # server ids that left for good
        self.wrong_address: frozenset[str] = frozenset()  # declared with an address that is not theirs
        self.settings = Settings()  # as declared
        self.adopts = False  # runs take over members that containers run
        self.hesitant = False  # elections and joins take time
        self.cut: frozenset[tuple[str, str]] = frozenset()  # sender and receiver: messages that do not arrive
        self.clients: dict[str, frozenset[str]] = dict.fromkeys(databases, frozenset())  # cids ever handed to clients
        self.client: dict[str, Client] = dict.fromkeys(databases, Client())
        self.acknowledged: dict[str, frozenset[int]] = dict.fromkeys(databases, frozenset())
        # What a run was allowed to give up by accept_rollback: acknowledged writes that the old copies lack.
        self.given_up: dict[str, frozenset[int]] = dict.fromkeys(databases, frozenset())
        self.rolled_back: frozenset[str] = frozenset()  # databases whose old copies may have been started
        self.confirmed: frozenset[str] = frozenset()  # options by which the operator takes a responsibility
        self.now = 0
        self.faults = 0  # events so far, to tell what happened since an observation
        self.counter = 0  # names of servers, clusters, runs
        self.writes = 0
        self.disks = size + spare
        for number, host in enumerate(self.hosts.values(), 1):
            for slot in host.slots.values():
                slot.disk = number
        # Pods only: what the API server stores.
        self.replicas: dict[str, int | None] = dict.fromkeys(databases)  # of the StatefulSet; None: there is none
        self.config_map: dict[str, Record | None] = dict.fromkeys(databases)
        self.map_version: dict[str, int] = dict.fromkeys(databases, 0)
        self.lease: Held | None = None
        self.acquisitions = 0  # of locks and Leases by runs that did not hold them, to tell what was observed before

    def copy(self) -> World:
        other = World.__new__(World)
        other.__dict__.update(self.__dict__)
        other.hosts = {name: host.copy() for name, host in self.hosts.items()}
        for name in (
            "clients",
            "client",
            "retired",
            "acknowledged",
            "given_up",
            "replicas",
            "config_map",
            "map_version",
        ):
            setattr(other, name, dict(getattr(self, name)))
        return other

    def fresh_id(self) -> str:
        """A new server or cluster id; the first four digits tell it apart."""
        self.counter += 1
        return f"{self.counter:04x}0000-0000-4000-8000-000000000000"

    def address_of(self, name: str) -> str:
        """As declared."""
        address = self.hosts[name].address
        return address.replace("192.0.2.", "198.51.100.") if name in self.wrong_address else address

    def slots(self, database: str) -> t.Iterator[tuple[Host, Slot]]:
        for host in self.hosts.values():
            yield host, host.slots[database]

    def settle(self) -> None:
        for database in self.databases:
            Raft(self, database).settle()


_MOST_MEMOS = 100_000
_LEADERS: dict[t.Hashable, tuple[str, ...]] = {}
_SETTLED: dict[t.Hashable, list[t.Any]] = {}


class Raft:
    """The servers of one database."""

    def __init__(self, world: World, database: str) -> None:
        self.world, self.database = world, database

    def running(self) -> list[tuple[Host, Slot]]:
        return [(host, slot) for host, slot in self.world.slots(self.database) if slot.server is not None]

    def talk(self, one: Host, two: Host) -> bool:
        return self.hears(one, two) and self.hears(two, one)

    def hears(self, listener: Host, speaker: Host) -> bool:
        """Whether messages of `speaker` arrive at `listener`."""
        if listener is speaker:
            return True
        first, second = listener.slots[self.database].server, speaker.slots[self.database].server
        return (
            first is not None
            and second is not None
            and not (first.failed or second.failed)
            and first.settings.good
            and second.settings.good
            and (speaker.name, listener.name) not in self.world.cut
        )

    def peers(self, host: Host) -> dict[str, tuple[Host, Slot]]:
        """The members of this server's configuration that it can talk to, itself included."""
        return self._members(host, self.talk)

    def audience(self, host: Host) -> dict[str, tuple[Host, Slot]]:
        """The members of this server's configuration that hear it, itself included."""
        return self._members(host, lambda host, other: self.hears(other, host))

    def heard(self, host: Host) -> dict[str, tuple[Host, Slot]]:
        """The members of this server's configuration that it hears, itself included."""
        return self._members(host, self.hears)

    def _members(self, host: Host, reaches: t.Callable[[Host, Host], bool]) -> dict[str, tuple[Host, Slot]]:
        data = _data(host.slots[self.database])
        found: dict[str, tuple[Host, Slot]] = {}
        for other, slot in self.running():
            server = _data(slot)
            if (
                server.kind == "member"
                and server.sid in data.servers
                and server.cid == data.cid
                and (other is host or server.sid != data.sid)
                and reaches(host, other)
            ):
                found.setdefault(t.cast(str, server.sid), (other, slot))
        return found

    def has_majority(self, host: Host) -> bool:
        return 2 * len(self.peers(host)) > len(_data(host.slots[self.database]).servers)

    def could_lead(self, host: Host) -> bool:
        """Whether a majority of its list reaches it and would vote for it: they list it, too, and have no newer log."""
        own = _data(host.slots[self.database])
        votes = [slot for _host, slot in self._voters(host).values() if own.sid in _data(slot).servers]
        return 2 * len(votes) > len(own.servers)

    def _voters(self, host: Host) -> dict[str, tuple[Host, Slot]]:
        """Members that it can talk to and that have no newer log, itself included."""
        own = _data(host.slots[self.database]).position
        return {sid: pair for sid, pair in self.peers(host).items() if _data(pair[1]).position <= own}

    def key(self) -> t.Hashable:
        """All that decides what happens by itself; memos of pure functions of the state go by it."""
        slots = [
            (
                s.server,
                s.file,
                s.slow,
                s.trails,
                s.full,
                s.witness,
                s.witnesses,
                s.disk,
                s.container,
                s.volume,
                s.enabled,
            )
            for _h, s in self.world.slots(self.database)
        ]
        return (self.database, self.world.cut, self.world.hesitant, tuple(self.world.hosts), tuple(slots))

    def leaders(self) -> list[tuple[Host, Slot]]:
        """Leaders that can commit, the newest term first."""
        state = self.key()
        names = _LEADERS.get(state)
        if names is None:
            if len(_LEADERS) > _MOST_MEMOS:
                _LEADERS.clear()
            names = _LEADERS[state] = tuple(host.name for host, _slot in self._leaders())
        return [(self.world.hosts[name], self.world.hosts[name].slots[self.database]) for name in names]

    def _leaders(self) -> list[tuple[Host, Slot]]:
        found = [
            (host, slot)
            for host, slot in self.running()
            if slot.server and slot.server.leader and self.has_majority(host)
        ]
        return sorted(found, key=lambda pair: -_data(pair[1]).term)

    def leader_of(self, host: Host) -> tuple[Host, Slot] | None:
        """The leader that takes this member's server along."""
        own = _data(host.slots[self.database])
        for leader, slot in self._leaders():
            if _data(slot).cid == own.cid and own.sid in _data(slot).servers and self.hears(host, leader):
                return leader, slot
        return None

    def connected(self, host: Host) -> bool:
        """What `_Server` says."""
        server = host.slots[self.database].server
        if server is None or server.failed or server.data.kind != "member":
            return False
        if server.leader or server.phase == "candidate":
            return True  # for a while even when it lost its majority, or its leader
        leader = self.leader_of(host)
        return leader is not None and self.audience(leader[0]).get(t.cast(str, server.data.sid), (None,))[0] is host

    def live(self) -> int:
        """Members that count for the quorum: of the newest leader's list, those that it talks to."""
        leaders = self.leaders()
        return len(self.peers(leaders[0][0])) if leaders else 0

    # --- what happens by itself ------------------------------------------------------------------------------------------

    def settle(self) -> None:
        before = self.key()
        after = _SETTLED.get(before)
        slots = [slot for _host, slot in self.world.slots(self.database)]
        if after is not None:
            for slot, (server, file, witness, witnesses) in zip(slots, after):
                slot.server, slot.file, slot.witness, slot.witnesses = server, file, witness, witnesses
            return
        self._settle()
        if len(_SETTLED) > _MOST_MEMOS:
            _SETTLED.clear()
        _SETTLED[before] = [(slot.server, slot.file, slot.witness, slot.witnesses) for slot in slots]

    def _settle(self) -> None:
        proposed = [slot for _host, slot in self.running() if slot.server and slot.server.proposed]
        for _host, slot in self.running():
            if slot.server and slot.server.elected:
                slot.server = slot.server._replace(elected=False)
        self._depose()
        self._elect()
        self.replicate()
        self._leave()
        self._join()
        self._complete_files()
        self._remember()
        for slot in proposed:
            slot.server = slot.server and slot.server._replace(proposed=False)

    def _complete_files(self) -> None:
        """The launcher has the server write its file from memory as soon as there is room (R20). In a container the file keeps its hole."""
        for _host, slot in self.running():
            server = t.cast(Server, slot.server)
            if server.ahead and not slot.full and not server.failed:
                slot.server = server._replace(linked=not slot.contained, ahead=False)
                slot.write(server.data)

    def _leave(self) -> None:
        """A leader that was removed from its own list goes when a majority of the others has that list."""
        for _host, slot in self.running():
            server = t.cast(Server, slot.server)
            if server.leader and server.data.sid not in server.data.servers:
                others = [_data(other) for _h, other in self.running() if other is not slot]
                same = [data for data in others if data.sid in server.data.servers and data.log is server.data.log]
                if 2 * len(same) > len(server.data.servers):
                    slot.write(server.data._replace(kind="left"))
                    if slot.server is not None:
                        slot.server = slot.server._replace(data=server.data._replace(kind="left"), leader=False)

    def _remember(self) -> None:
        """R25: what the launcher writes beside the record while a member takes part, of itself and of the members that it hears. Containers have none."""
        committed = {leader.name: self.committed(leader) for leader, _slot in self._leaders()}
        for host, slot in self.running():
            server = _data(slot)
            leader = self.leader_of(host)
            if leader is None or not t.cast(Server, slot.server).linked or server.kind != "member" or slot.contained:
                continue
            sid, known_log = t.cast(str, server.sid), committed[leader[0].name]
            own = known_log.first(server.log.matching(known_log))
            position = (own.term, own.length)
            if slot.witness is not None and slot.witness.sid == sid:
                position = max(position, slot.witness.position)
            if own.length:
                slot.witness = Witness(sid, position, slot.disk)
            heard = self.peers(host) if leader[0] is host else {sid: (host, slot), _data(leader[1]).sid: leader}
            known = dict(slot.witnesses)
            for other, pair in heard.items():
                length = _data(pair[1]).log.matching(known_log)
                known[t.cast(str, other)] = max(known.get(t.cast(str, other), 0), length)
            slot.witnesses = tuple(sorted((k, v) for k, v in known.items() if k in server.servers))

    def changes(self, leader: Host) -> dict[str, tuple[str, str]]:
        """Changes of this leader's list that are not over: by server id its address and the phase as `cluster/status` names it."""
        data = _data(leader.slots[self.database])
        found: dict[str, tuple[str, str]] = {}
        if all(_data(slot).log is data.log for _host, slot in self.running()):
            return found
        before = self.committed(leader).servers
        for host, slot in self.running():
            joiner = _data(slot)
            if joiner.kind == "joining" and joiner.cid == data.cid and self.talk(host, leader):
                found[t.cast(str, joiner.sid)] = (joiner.address, "adding: catchup")
        found |= {sid: (address, "adding: committing") for sid, address in data.servers.items() if sid not in before}
        return found | {sid: (address, "removing") for sid, address in before.items() if sid not in data.servers}

    def committed(self, leader: Host) -> Log:
        """As much of the leader's log as a majority of its list has on disk: what is not committed can still be replaced."""
        data = _data(leader.slots[self.database])
        servers = [t.cast(Server, slot.server) for _host, slot in self.heard(leader).values()]
        lengths = sorted((0 if one.ahead else one.data.log.matching(data.log) for one in servers), reverse=True)
        needed = len(data.servers) // 2 + 1
        return data.log.first(lengths[needed - 1] if len(lengths) >= needed else 0)

    def _depose(self) -> None:
        for host, slot in self.running():
            server = slot.server
            if server is None or not server.leader:
                continue
            if not self.has_majority(host):
                slot.server = server._replace(leader=not server.isolated, isolated=not server.isolated)
                continue
            slot.server = server = server._replace(isolated=False)
            newer = [
                _data(other)
                for peer, other in self._leaders()
                if peer is not host and self.hears(host, peer) and _data(other).cid == server.data.cid
            ]
            followers = [_data(other) for other_host, other in self.peers(host).values() if other_host is not host]
            if any(data.term > server.data.term for data in (*newer, *followers)):
                slot.server = server._replace(leader=False)

    def _elect(self) -> None:
        for host, slot in self.running():
            if self.leader_of(host) is None and not (self.world.hesitant and self._begins_election(slot)):
                self.elect(host)
        after = "led" if self.world.hesitant else ""
        for host, slot in self.running():
            server = t.cast(Server, slot.server)
            if server.phase != after and server.data.kind == "member" and self.leader_of(host) is not None:
                slot.server = server._replace(phase=after)

    @staticmethod
    def _begins_election(slot: Slot) -> bool:
        """The first election after a leader was lost takes time, and the server calls itself connected meanwhile (`raft_is_connected`)."""
        server = t.cast(Server, slot.server)
        if server.failed or server.data.kind != "member" or server.data.sid not in server.data.servers:
            return False
        if server.phase == "retrying":
            return False
        if slot.full:
            slot.fail_write()  # a candidate writes its new term
            return True
        slot.write(server.data._replace(term=server.data.term + 1))
        phase = "candidate" if server.phase == "led" else "retrying"
        slot.server = t.cast(Server, slot.server)._replace(phase=phase, leader=False, isolated=False)
        return server.phase != "candidate"

    def elect(self, host: Host) -> bool:
        """Whether this server wins an election now."""
        slot = host.slots[self.database]
        server = slot.server
        if server is None or server.data.kind != "member" or server.data.sid not in server.data.servers:
            return False
        if slot.full:
            slot.fail_write()  # a candidate writes its new term
        if t.cast(Server, slot.server).failed:
            return False
        voters = self._voters(host)
        if 2 * len([pair for pair in voters.values() if not pair[1].full]) <= len(server.data.servers):
            return False
        for _peer, other in self.audience(host).values():
            if other.full:
                other.fail_write()  # whoever hears of a new term writes it
        voters = {sid: pair for sid, pair in voters.items() if not pair[1].full}
        term = max(_data(pair[1]).term for pair in voters.values()) + 1
        for peer, other in self.audience(host).values():
            if other.server and other.server.leader and peer is not host:
                other.server = other.server._replace(leader=False, isolated=False)
        for _peer, other in voters.values():
            other.write(_data(other)._replace(term=term))
        data = _data(slot)
        slot.write(data._replace(log=data.log.append(Entry(term, "none"))))
        slot.server = t.cast(Server, slot.server)._replace(leader=True, isolated=False, elected=True)
        self.replicate()
        return True

    def replicate(self) -> None:
        for host, slot in self._leaders():
            if t.cast(Server, slot.server).proposed:
                continue
            data = _data(slot)
            talking = self.peers(host)
            for sid, (peer, other) in self.audience(host).items():
                own = _data(other)
                if peer is host or other.slow or own.log is data.log or own.term > data.term:
                    continue
                if sid not in talking and not data.log.starts_with(own.log):
                    continue  # it rejects what does not follow its last entry, and the leader does not hear that
                log = own.log.first(own.log.matching(data.log)).followed_by(data.log)
                if own.log is log and own.term == data.term:
                    continue
                if other.full:
                    # It goes on in memory, and acknowledges that once it can write again; the hole in the file shows at the next start.
                    server = t.cast(Server, other.server)
                    if other.file is not None and server.linked:
                        other.file = other.file._replace(kind="broken")
                        server = server._replace(linked=False, ahead=True)
                    other.server = server._replace(data=own._replace(log=log, term=data.term))
                    continue
                other.write(own._replace(log=log, term=data.term))

    def _join(self) -> None:
        for host, slot in self.running():
            data = _data(slot)
            if data.kind != "joining" or slot.slow or slot.full:
                continue
            for leader, other in self._leaders():
                if _data(other).cid == data.cid and self.talk(host, leader):
                    if self.world.hesitant and t.cast(Server, slot.server).phase != "adding":
                        slot.server = t.cast(Server, slot.server)._replace(phase="adding")
                        break
                    if other.full:
                        other.fail_write()
                        continue
                    servers = {**_data(other).servers, t.cast(str, data.sid): data.address}
                    self._commit(leader, "servers", tuple(servers.items()))
                    now = _data(other)
                    slot.write(data._replace(kind="member", term=now.term, log=now.log))
                    break

    # --- what somebody does ----------------------------------------------------------------------------------------------

    def _commit(self, host: Host, operation: str, argument: t.Any) -> bool:
        """Append to the leader's log and replicate; whether a majority has it."""
        slot = host.slots[self.database]
        data = _data(slot)
        longer = data._replace(log=data.log.append(Entry(data.term, operation, argument)))
        if slot.full:
            slot.server = t.cast(Server, slot.server)._replace(data=longer)
        else:
            slot.write(longer)
        self.replicate()
        log = _data(slot).log
        holders = [
            pair for pair in self.peers(host).values() if not pair[1].full and _data(pair[1]).log.starts_with(log)
        ]
        if slot.full:
            slot.fail_write()  # the others may have the entry all the same
            return False
        return 2 * len(holders) > len(_data(slot).servers)

    def write(self, names: t.Collection[str] | None = None) -> None:
        """Clients write at each server (of these hosts) that calls itself leader, if they go there; acknowledged if a majority has it."""
        for host, slot in self.running():
            if slot.server and slot.server.leader and self.serves(slot) and (names is None or host.name in names):
                self.world.writes += 1
                number = self.world.writes
                # Before clients have the endpoints nobody is told anything.
                if self._commit(host, "write", number) and _data(slot).cid in self.world.clients[self.database]:
                    self.world.acknowledged[self.database] |= {number}
                    client = self.world.client[self.database]
                    self.world.client[self.database] = client._replace(index=_data(slot).log.length)

    def serves(self, slot: Slot) -> bool:
        """Whether clients take this server for one of theirs: by its address, its cluster and its index. Before they have endpoints they take any."""
        data, client = _data(slot), self.world.client[self.database]
        cids = self.world.clients[self.database]
        return not cids or (data.cid in cids and data.address in client.addresses and data.log.length >= client.index)

    def kick(self, leader: Host, sid: str) -> bool:
        """`cluster/kick`; whether the list lacks the server afterwards."""
        data = _data(leader.slots[self.database])
        kicked = [full for full in data.servers if full[: len(sid)] == sid]
        if not kicked:
            return True
        target = self.audience(leader).get(kicked[0])
        others = [
            slot for host, slot in self.peers(leader).values() if host is not leader and not (slot.slow or slot.full)
        ]
        if kicked[0] == data.sid and 2 * len(others) <= len(data.servers) - 1:
            return False  # a leader goes only if the others commit that
        servers = {key: value for key, value in data.servers.items() if key not in kicked}
        own = leader.slots[self.database]
        if self.world.hesitant and kicked[0] != data.sid and not own.full:
            own.write(data._replace(log=data.log.append(Entry(data.term, "servers", tuple(servers.items())))))
            own.server = t.cast(Server, own.server)._replace(proposed=True)
            return True
        done = self._commit(leader, "servers", tuple(servers.items()))
        if target is not None and done:
            slot = target[1]
            slot.write(_data(slot)._replace(kind="left"))
            if slot.server is not None:  # it goes on without a database
                slot.server = slot.server._replace(data=_data(slot)._replace(kind="left"), leader=False)
        return done


def _data(slot: Slot) -> File:
    if slot.server is None:
        raise AssertionError("no server runs")
    return slot.server.data
