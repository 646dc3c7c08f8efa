"""Which daemons and containers a unit would start, by what `systemctl show` prints of its commands."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._host.foreign_units import (
    StoppedUnit,
    find_units_of_container,
    parse_units,
    read_stopped_units,
    units_of_container,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._machine.supervisor import Supervisor

FILE = "/var/lib/ovn/ovnnb_db.db"
REST = "; ignore_errors=no ; start_time=[n/a] ; stop_time=[n/a] ; pid=0 ; code=(null) ; status=0/0 }"
SHOWN = f"""\
MainPID=0
ExecStart={{ path=/bin/mkdir ; argv[]=/bin/mkdir -p /run/ovn {REST}
ExecStart={{ path=/usr/sbin/ovsdb-server ; argv[]=/usr/sbin/ovsdb-server --remote=punix:/run/ovn/ovnnb_db.sock {FILE} {REST}
Id=my-nb.service

MainPID=812
ExecStart={{ path=/usr/bin/ovn-northd ; argv[]=/usr/bin/ovn-northd {REST}
Id=running.service

MainPID=0
Id=none.service
"""
COMMANDS = (("/bin/mkdir", "-p", "/run/ovn"), ("/usr/sbin/ovsdb-server", "--remote=punix:/run/ovn/ovnnb_db.sock", FILE))


def test_units_that_have_no_process() -> None:
    assert parse_units(SHOWN) == [StoppedUnit("my-nb.service", COMMANDS), StoppedUnit("none.service", ())]


def test_ours_and_templates_are_left_out() -> None:
    asked = list[tuple[str, ...]]()

    def systemctl(*arguments: str) -> str:
        asked.append(arguments)
        if arguments[0] == "show":
            return SHOWN
        return "c5c3-ovn-northd.service enabled enabled\nmy-nb.service  enabled enabled\ngetty@.service enabled enabled\n\n"

    assert [unit.name for unit in read_stopped_units(systemctl)] == ["my-nb.service", "none.service"]
    assert asked[1][-2:] == ("--", "my-nb.service")


def test_a_host_without_enabled_units() -> None:
    assert read_stopped_units(lambda *arguments: "") == []


@pytest.mark.parametrize(
    ("command", "daemons"),
    [
        pytest.param(f"/usr/sbin/ovsdb-server --remote=punix:x {FILE}", {"northbound"}, id="a server of the file"),
        pytest.param("/usr/sbin/ovsdb-server /etc/openvswitch/conf.db", set(), id="Open vSwitch"),
        pytest.param(f"/bin/sh -c exec ovsdb-server {FILE}", {"northbound"}, id="by a shell"),
        pytest.param("/usr/bin/ovn-northd --ovnnb-db=x", {"northd"}, id="northd"),
        pytest.param(f"/bin/sh -c 'exec ovsdb-server {FILE}; true'", {"northbound"}, id="in quotes of a shell"),
        pytest.param('/bin/sh -c "(ovn-ctl run_nb_ovsdb)"', {"northbound"}, id="in parentheses of a shell"),
        pytest.param("/usr/share/ovn/scripts/ovn-ctl run_nb_ovsdb $OVN_CTL_OPTS", {"northbound"}, id="ovn-ctl"),
        pytest.param(f"/usr/share/ovn/scripts/ovn-ctl run_nb_ovsdb --db-nb-file={FILE}", {"northbound"}, id="its file"),
        pytest.param("/usr/share/ovn/scripts/ovn-ctl run_nb_ovsdb --db-nb-file=/x.db", set(), id="another file"),
        pytest.param("/usr/share/ovn/scripts/ovn-ctl run_sb_ovsdb", {"southbound"}, id="the other database"),
        pytest.param(
            "/usr/share/ovn/scripts/ovn-ctl start_northd --ovn-manage-ovsdb=no", {"northd"}, id="northd by ovn-ctl"
        ),
        pytest.param(
            "/usr/share/ovn/scripts/ovn-ctl start_northd", {"northd", "northbound", "southbound"}, id="all by ovn-ctl"
        ),
        pytest.param("/usr/share/ovn/scripts/ovn-ctl stop_northd", set(), id="a stop"),
        pytest.param("/usr/share/ovn/scripts/ovn-ctl start_controller", set(), id="a chassis"),
    ],
)
def test_what_a_command_starts(command: str, daemons: set[str]) -> None:
    (unit,) = parse_units(shown("/bin/true", command, MainPID="0"))
    files = {"northbound": FILE, "southbound": "/var/lib/ovn/ovnsb_db.db", "northd": ""}
    assert {name for name, file in files.items() if unit.starts(name, file)} == daemons


ID = "0123456789ab" + "c" * 52
DOCKER = Supervisor("container", ID[:12], "docker")


def shown(*executed: str, unit: str = "one.service", key: str = "ExecStart", **states: str) -> str:
    """What systemctl shows of a unit that runs and is enabled, unless `states` say something else."""
    values = {"Id": unit, "ActiveState": "active", "UnitFileState": "enabled", "WantedBy": "", **states}
    commands = [f"{key}={{ path={words.split()[0]} ; argv[]={words} {REST}" for words in executed]
    return "\n".join([*(f"{name}={value}" for name, value in values.items()), *commands]) + "\n"


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("/usr/bin/docker start -a ovn_nb_db", id="start"),
        pytest.param("/usr/bin/docker restart ovn_nb_db", id="restart"),
        pytest.param("/usr/bin/docker run --rm --name ovn_nb_db image ovn-ctl run_nb_ovsdb", id="run"),
        pytest.param("/usr/bin/docker run --name=ovn_nb_db image", id="run with an equals sign"),
        pytest.param(
            "/usr/bin/docker run -v /var/lib/docker:/var/lib/docker --name ovn_nb_db image", id="run with a volume"
        ),
        pytest.param("/usr/bin/docker create --name ovn_nb_db image", id="create"),
        pytest.param("/usr/bin/docker container start ovn_nb_db", id="container start"),
        pytest.param("/usr/bin/docker --host unix:///run/docker.sock start ovn_nb_db", id="an option of the engine"),
        pytest.param("/usr/bin/podman start -a ovn_nb_db", id="podman"),
        pytest.param("docker start ovn_nb_db", id="without a path"),
        pytest.param(f"/usr/bin/podman start {ID}", id="its id"),
        pytest.param(f"/usr/bin/podman start {ID[:12]}", id="its id, cut"),
        pytest.param("/bin/sh -c exec docker start -a ovn_nb_db", id="a shell"),
        pytest.param("/bin/sh -c docker rm -f ovn_nb_db; docker run --name ovn_nb_db image", id="after its removal"),
        pytest.param('/bin/sh -c "docker start ovn_nb_db; docker start ovn_sb_db"', id="the first command of a shell"),
        pytest.param("/bin/sh -c 'sleep 5&&docker start ovn_nb_db'", id="without spaces"),
        pytest.param("/bin/sh -c 'docker start \"ovn_nb_db\"||true'", id="a name in quotes"),
        pytest.param("/bin/sh -c 'docker run --name=\"ovn_nb_db\" image'", id="run with a name in quotes"),
        pytest.param("/bin/sh -c (docker start ovn_nb_db)", id="parentheses"),
        pytest.param("/bin/sh -c docker start ovn_nb_db > /dev/null 2>&1", id="its output goes elsewhere"),
        pytest.param("/usr/bin/docker run -e URL=http://x?a=1&b=2 --name ovn_nb_db image", id="a separator in a value"),
        pytest.param("/usr/bin/docker restart -t 10 ovn_nb_db", id="a timeout"),
        pytest.param("/usr/bin/docker restart --time 10 --signal TERM ovn_nb_db", id="a timeout and a signal"),
        pytest.param("/usr/bin/docker restart --timeout=10 ovn_nb_db", id="a timeout with an equals sign"),
        pytest.param("/usr/bin/docker start --detach-keys ctrl-x -ai ovn_nb_db", id="keys"),
        pytest.param("/usr/bin/docker start --detach-keys $KEYS ovn_nb_db", id="an option with a variable"),
        pytest.param(f"/usr/bin/docker start ovn_nb_db {ID[:12]}", id="by its name and its id"),
        pytest.param("/usr/bin/podman $LOGGING start ovn_nb_db", id="a variable before the verb"),
    ],
)
@pytest.mark.parametrize("key", ["ExecStart", "ExecStartPre", "ExecStartPost"])
def test_a_unit_that_starts_a_container_is_found(command: str, key: str) -> None:
    assert find_units_of_container(shown("/bin/true", command, key=key), DOCKER, "ovn_nb_db", ID) == ["one.service"]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("/usr/bin/docker start -a ovn_nb_db2", id="another one"),
        pytest.param("/usr/bin/docker run --name=ovn_nb_db2 image", id="another one with an equals sign"),
        pytest.param("/usr/bin/docker start fedcba987654", id="another id"),
        pytest.param("/usr/bin/docker start 0123", id="too few digits of its id"),
        pytest.param("/usr/bin/docker exec ovn_nb_db ovn-nbctl show", id="exec"),
        pytest.param("/usr/bin/docker exec ovn_nb_db supervisorctl restart cron", id="exec of a restart"),
        pytest.param("/usr/bin/docker run --name ovn_backup --volumes-from ovn_nb_db image", id="run of a companion"),
        pytest.param("/usr/bin/docker run --name exporter ovn_nb_db", id="an image of that name"),
        pytest.param("/usr/bin/docker logs -f ovn_nb_db", id="logs"),
        pytest.param("/usr/bin/docker stop ovn_nb_db", id="stop"),
        pytest.param("/usr/bin/docker wait ovn_nb_db", id="wait"),
        pytest.param("/usr/bin/systemctl start ovn_nb_db", id="no engine"),
        pytest.param("/usr/bin/mydocker start ovn_nb_db", id="no engine of that name"),
        pytest.param("/bin/sh -c 'docker start other; systemctl restart ovn_nb_db'", id="another command of a shell"),
        pytest.param("/bin/sh -c 'docker start other && docker logs ovn_nb_db'", id="start of another one, then logs"),
        pytest.param("/usr/bin/podman $LOGGING start --all --filter restart-policy=always", id="podman-restart"),
        pytest.param("/usr/bin/docker start --detach-keys $KEYS other", id="a variable that is no name"),
        pytest.param("/usr/bin/docker exec other restart $SERVICE", id="exec with a variable"),
        pytest.param("/usr/bin/docker compose start $SERVICE", id="a service of compose"),
        pytest.param("/usr/bin/podman pod start ${POD}", id="a pod"),
    ],
)
def test_a_unit_that_does_not_start_it_is_nobody_s_business(command: str) -> None:
    assert find_units_of_container(shown(command), DOCKER, "ovn_nb_db", ID) == []


START = "/usr/bin/docker start -a ovn_nb_db"


@pytest.mark.parametrize(
    ("states", "found"),
    [
        pytest.param({}, True, id="active and enabled"),
        pytest.param({"UnitFileState": "disabled"}, True, id="active and disabled"),
        pytest.param({"ActiveState": "activating", "UnitFileState": "disabled"}, True, id="about to start it again"),
        pytest.param({"ActiveState": "inactive"}, True, id="inactive and enabled"),
        pytest.param({"ActiveState": "failed"}, True, id="failed and enabled"),
        pytest.param({"ActiveState": "inactive", "UnitFileState": "disabled"}, False, id="inactive and disabled"),
        pytest.param({"ActiveState": "failed", "UnitFileState": "disabled"}, False, id="failed and disabled"),
        pytest.param({"ActiveState": "inactive", "UnitFileState": "masked"}, False, id="masked"),
        pytest.param(
            {"ActiveState": "inactive", "UnitFileState": "disabled", "WantedBy": "ovn.target"}, True, id="wanted"
        ),
        pytest.param(
            {"ActiveState": "inactive", "UnitFileState": "disabled", "RequiredBy": "x.service"}, True, id="required"
        ),
        pytest.param(
            {"ActiveState": "inactive", "UnitFileState": "disabled", "TriggeredBy": "x.timer"}, True, id="triggered"
        ),
    ],
)
def test_a_unit_counts_unless_it_rests(states: dict[str, str], found: bool) -> None:
    assert find_units_of_container(shown(START, **states), DOCKER, "ovn_nb_db") == ["one.service"] * found


def test_all_units_of_a_container_are_found() -> None:
    blocks = [shown(START, unit="b.service"), shown("/bin/true", unit="c.service"), shown(START, unit="a.service")]
    within = Supervisor("container", ID[:12], "podman", "d.service")
    found = find_units_of_container("\n".join(blocks), within, "ovn_nb_db", ID)
    assert found == ["a.service", "b.service", "d.service"]


def test_the_id_of_a_container_without_one_is_not_guessed() -> None:
    assert find_units_of_container(shown(f"/usr/bin/docker start {ID}"), DOCKER, "ovn_nb_db") == []


@pytest.mark.parametrize(
    ("command", "names"),
    [
        pytest.param("/usr/bin/docker start -a $NAME", r"\$NAME", id="a variable"),
        pytest.param("/usr/bin/docker restart -t 10 ${NAME}", r"\$\{NAME\}", id="in braces"),
        pytest.param("/usr/bin/podman container start ovn_${NAME} $OTHER", r"ovn_\$\{NAME\}, \$OTHER", id="several"),
        pytest.param("/bin/sh -c 'docker start \"$$NAME\"; true'", r"\$\$NAME", id="a variable of a shell"),
        pytest.param("/bin/sh -c docker start $(cat /etc/name)", r"\$", id="what another command prints"),
    ],
)
def test_a_unit_that_may_start_it_is_refused(command: str, names: str) -> None:
    cause = rf"^one\.service starts containers whose names are variables \({names}\), so it cannot be known whether it starts it\."
    with pytest.raises(OvnError, match=f"{cause} Stop that unit and disable or mask it, or "):
        find_units_of_container(shown(command), DOCKER, "ovn_nb_db", ID)
    resting = shown(command, ActiveState="inactive", UnitFileState="disabled")
    assert find_units_of_container(resting, DOCKER, "ovn_nb_db", ID) == []


def test_a_unit_that_starts_it_may_start_others_under_variables() -> None:
    variable = "/usr/bin/podman start $NAME"
    assert find_units_of_container(shown(START, variable), DOCKER, "ovn_nb_db", ID) == ["one.service"]
    around = Supervisor("container", ID[:12], "podman", "one.service")
    assert find_units_of_container(shown(variable), around, "ovn_nb_db", ID) == ["one.service"]


@pytest.mark.parametrize(
    ("command", "names"),
    [
        pytest.param("/usr/bin/docker start ovn_nb_db ovn_sb_db", "ovn_sb_db", id="behind it"),
        pytest.param(
            "/usr/bin/docker start -a ovn_northd ovn_nb_db ovn_sb_db", "ovn_northd, ovn_sb_db", id="around it"
        ),
        pytest.param(f"/usr/bin/podman restart --time 10 x {ID[:12]}", "x", id="by its id"),
        pytest.param("/bin/sh -c 'docker start ovn_nb_db ovn_sb_db; docker ps'", "ovn_sb_db", id="a shell"),
        pytest.param("/usr/bin/docker start $OTHER ovn_nb_db", r"\$OTHER", id="a variable"),
    ],
)
def test_a_unit_that_starts_other_containers_with_it_is_refused(command: str, names: str) -> None:
    with pytest.raises(OvnError, match=rf"^one\.service starts it together with {names}, which .*\. Give "):
        find_units_of_container(shown("/bin/true", command), DOCKER, "ovn_nb_db", ID)
    resting = shown(command, ActiveState="inactive", UnitFileState="disabled")
    assert find_units_of_container(resting, DOCKER, "ovn_nb_db", ID) == []


@pytest.mark.parametrize(
    ("state", "file"),
    [
        ("static", "/usr/lib/systemd/system/one.service"),
        ("generated", "/run/systemd/generator/one.service"),
        ("static", "/etc/systemd/systems/one.service"),
    ],
)
def test_a_unit_that_can_be_masked_is_found(state: str, file: str) -> None:
    text = shown(START, UnitFileState=state, FragmentPath=file)
    assert find_units_of_container(text, DOCKER, "ovn_nb_db") == ["one.service"]


@pytest.mark.parametrize("state", ["linked", "linked-runtime", "transient"])
def test_a_unit_whose_file_is_elsewhere_is_refused(state: str) -> None:
    with pytest.raises(OvnError, match=f"is {state}"):
        find_units_of_container(shown(START, UnitFileState=state, FragmentPath="/srv/one.service"), DOCKER, "ovn_nb_db")


@pytest.mark.parametrize("state", ["static", "generated", "linked", "linked-runtime", "transient"])
def test_a_unit_that_cannot_be_disabled_is_refused(state: str) -> None:
    text = shown(START, UnitFileState=state, FragmentPath="/etc/systemd/system/one.service")
    with pytest.raises(OvnError, match=f"^one.service, which starts it, is {state}, .* Remove that unit"):
        find_units_of_container(text, DOCKER, "ovn_nb_db")
    around = Supervisor("container", ID[:12], "podman", "one.service")
    with pytest.raises(OvnError, match=f"is {state}"):
        find_units_of_container(text.replace(START, "/usr/bin/conmon x"), around, "ovn_nb_db")
    assert find_units_of_container(shown("/bin/true", UnitFileState=state), DOCKER, "ovn_nb_db") == []


@pytest.mark.parametrize(
    "command",
    ["/usr/bin/docker compose -f /srv/ovn.yml up", "/usr/bin/docker-compose up", "/usr/bin/podman-compose up -d"],
)
def test_a_unit_that_starts_projects_is_refused_for_a_container_of_one(command: str) -> None:
    with pytest.raises(OvnError, match=r"project ovn, and one\.service starts such projects"):
        find_units_of_container(shown(command), DOCKER, "ovn_nb_db", ID, "ovn")
    assert find_units_of_container(shown(command), DOCKER, "ovn_nb_db", ID) == []
    resting = shown(command, ActiveState="inactive", UnitFileState="disabled")
    assert find_units_of_container(resting, DOCKER, "ovn_nb_db", ID, "ovn") == []


class Systemd:
    """Prints lists of units, and what was recorded of them."""

    def __init__(self, files: str = "", loaded: str = "", text: str = "") -> None:
        self.files, self.loaded, self.text = files, loaded, text
        self.shown: tuple[str, ...] = ()
        self.properties = list[str]()

    def __call__(self, *command: str) -> str:
        if "show" in command:
            self.properties, self.shown = command[2].partition("=")[2].split(","), command[command.index("--") + 1 :]
            return self.text
        return self.files if "list-unit-files" in command else self.loaded


def units(systemd: Systemd) -> list[str]:
    return units_of_container(systemd, DOCKER, "ovn_nb_db", ID, "")


def test_ours_and_templates_are_not_asked_for_a_container() -> None:
    files = (
        "c5c3-ovn-northd.service enabled enabled\nunloaded.service disabled enabled\ngetty@.service enabled enabled\n\n"
    )
    loaded = "getty@tty1.service loaded active running Getty\none.service loaded\ntwo.service loaded\n"
    systemd = Systemd(files, loaded, shown(START))
    assert units(systemd) == ["one.service"]
    assert "FragmentPath" in systemd.properties
    assert systemd.shown == ("getty@tty1.service", "one.service", "two.service", "unloaded.service")


@pytest.mark.parametrize("systemd", [Systemd(), Systemd("one.service enabled enabled\n")], ids=["no list", "no units"])
def test_units_that_cannot_be_read_may_start_it(systemd: Systemd) -> None:
    with pytest.raises(OvnError, match="units of systemd cannot be read"):
        units(systemd)
