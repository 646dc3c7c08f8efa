"""c5c3.ovn.awx against AWX's API on loopback: what it makes, twice, in check mode, beside objects of others, and what it says when it cannot."""

from __future__ import annotations

import json
import pathlib
import re
import ssl
import sys
import typing as t

import _playbooks
import pytest
import yaml
from _awx_server import BASE, PASSWORD, TOKEN, USER, Awx, serving
from _pki import Pki
from conftest import Ran, RunModule

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.awx import AwxOptions, awx_arguments
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.option_types import check_options, options_from
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.shared_variables import SPECIFICATION as SHARED

pytestmark = pytest.mark.timeout(600)

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLAYBOOKS = [f"playbooks/{path.name}" for path in ROOT.glob("playbooks/*.yml")]
OPTIONS = yaml.safe_load((ROOT / "roles" / "ovn_awx" / "meta" / "argument_specs.yml").read_bytes())["argument_specs"][
    "main"
]["options"]
FILES = [yaml.safe_load(path.read_bytes()) for path in sorted((ROOT / "awx").glob("*.yml"))]
SITE: dict[str, t.Any] = {
    "ovn_awx_organization": "Networks",
    "ovn_awx_image": "registry.example.com/ovn-ee:1",
    "ovn_awx_inventory": {"url": "https://git.example.com/inventory.git", "credential": "git"},
    "ovn_awx_notification_url": "https://chat.example.com/hook",
    "ovn_awx_credentials": ["ssh", "vault"],
    "ovn_awx_approval_timeout": 3600,
}


def resources(**variables: t.Any) -> dict[str, list[dict[str, t.Any]]]:
    """What the role gives the module."""
    values = check_options("localhost", {**SHARED, **OPTIONS}, {**SITE, **variables})
    data: dict[str, list[dict[str, t.Any]]] = awx_arguments(options_from(AwxOptions, values, "ovn_awx_"), FILES)[
        "resources"
    ]
    return data


def organization(awx: Awx) -> int:
    """An organization with the credentials of the site, and another one with some of the same names."""
    number = awx.add("organizations", name="Networks")
    other = awx.add("organizations", name="Others")
    types = {kind: awx.add("credential_types", name=kind, kind="net") for kind in ("ssh", "vault", "scm")}
    for kind in types:  # AWX's own types have kinds that nobody else can make
        awx.objects["credential_types"][types[kind]]["kind"] = kind
    for name, kind in (("ssh", "ssh"), ("vault", "vault"), ("git", "scm")):
        awx.add("credentials", name=name, credential_type=types[kind], organization=number)
    awx.add("credentials", name="ssh", credential_type=types["ssh"], organization=other)
    return number


@pytest.fixture
def awx() -> t.Iterator[Awx]:
    with serving(Awx(PLAYBOOKS, fetching=1)) as server:
        organization(server)
        yield server


Apply = t.Callable[..., Ran]


@pytest.fixture
def apply(awx: Awx, run_module: RunModule) -> Apply:
    """`apply(check=True, take_over=[…], ovn_awx_name="Lab")`: the module on the data of the collection."""

    def call(check: bool = False, may_fail: bool = False, data: t.Any = None, **given: t.Any) -> Ran:
        variables = {name: given.pop(name) for name in list(given) if name.startswith("ovn_awx_")}
        options = {"host": awx.host, "token": TOKEN, "organization": "Networks", **given}
        options["resources"] = resources(**variables) if data is None else data
        awx.requests.clear()
        return run_module("ovn_awx", options, check, may_fail=may_fail)

    return call


def objects(ran: Ran) -> list[str]:
    return [f"{one['action']} {one['object']}" for one in ran.result["objects"]]


def refusal(ran: Ran, awx: Awx) -> str:
    assert ran.failed
    assert awx.writes == []
    return str(ran.result["msg"])


class TestPlaybook:
    def run(self, awx: Awx, folder: pathlib.Path, collections: str, *arguments: str) -> str:
        variables = json.dumps({**SITE, "ansible_python_interpreter": sys.executable})
        env = _playbooks.environment(
            folder, collections, CONTROLLER_HOST=awx.host, CONTROLLER_OAUTH_TOKEN=TOKEN, ANSIBLE_LOCALHOST_WARNING="0"
        )
        done = _playbooks.run(["c5c3.ovn.awx", "-e", variables, *arguments], env, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def test_check_mode_then_a_run_then_nothing_is_left(
        self, awx: Awx, short_dir: pathlib.Path, collection_path: str
    ) -> None:
        predicted = self.run(awx, short_dir, collection_path, "--check", "--diff")
        assert awx.writes == []
        done = self.run(awx, short_dir, collection_path)
        line = re.compile(r"^(?:created|updated|attached|detached) .*$", re.M)
        assert line.findall(predicted) == line.findall(done) != []
        awx.requests.clear()
        again = self.run(awx, short_dir, collection_path, "-vvv")
        for secret in (TOKEN, SITE["ovn_awx_notification_url"]):
            assert secret not in predicted + done + again
        assert awx.writes == []
        assert "changed=0" in again
        assert len(awx.requests) < 70
        # What AWX templates itself has come through Ansible as it is.
        injectors = awx.named("credential_types", "OVN Kubernetes clusters")["injectors"]
        assert injectors["env"] == {"K8S_AUTH_KUBECONFIG": "{{ tower.filename.kubeconfig }}"}


class TestWhatIsMade:
    @pytest.fixture
    def made(self, awx: Awx, apply: Apply) -> Awx:
        apply()
        return awx

    def test_a_job_template_has_all_that_a_job_needs(self, made: Awx) -> None:
        template = made.named("job_templates", "OVN site (check)")
        assert (template["job_type"], template["playbook"]) == ("check", "playbooks/site.yml")
        for field, kind in (("project", "projects"), ("inventory", "inventories")):
            assert made.objects[kind][template[field]]["name"] == "OVN"
        assert (
            made.objects["execution_environments"][template["execution_environment"]]["image"] == SITE["ovn_awx_image"]
        )
        linked = made.linked[template["id"], "credentials"]
        assert [made.objects["credentials"][one]["name"] for one in linked] == ["ssh", "vault"]
        assert len(made.linked[template["id"], "notification_templates_error"]) == 1

    def test_a_survey_is_written(self, made: Awx) -> None:
        ping = made.surveys[made.named("job_templates", "OVN ping")["id"]]
        assert {"ovn_ping_hosts", "ovn_ping_state"} <= {asked["variable"] for asked in ping["spec"]}

    def test_a_workflow_waits_for_an_approval_before_the_run(self, made: Awx) -> None:
        workflow = made.named("workflow_job_templates", "OVN control plane with approval")
        nodes = {
            node["identifier"]: node
            for node in made.objects["workflow_job_template_nodes"].values()
            if node["workflow_job_template"] == workflow["id"]
        }
        order = ["check"]
        while following := made.linked.get((nodes[order[-1]]["id"], "success_nodes")):
            order += [name for name, node in nodes.items() if node["id"] in following]
        assert order == ["check", "approve", "run", "verify"]
        approval = made.objects["workflow_approval_templates"][nodes["approve"]["unified_job_template"]]
        assert (approval["name"], approval["timeout"]) == ("Approve OVN control plane", 3600)
        assert "restart" in approval["description"]
        started = made.objects["job_templates"][nodes["run"]["unified_job_template"]]
        assert started["name"] == "OVN control plane"
        assert len(made.linked[workflow["id"], "notification_templates_approvals"]) == 1

    def test_schedules_and_inventory_source(self, made: Awx) -> None:
        schedule = made.named("schedules", "OVN verify hourly")
        assert made.objects["job_templates"][schedule["unified_job_template"]]["name"] == "OVN verify"
        source = made.named("inventory_sources", "OVN")
        assert made.objects["projects"][source["source_project"]]["scm_url"] == SITE["ovn_awx_inventory"]["url"]

    def test_another_installation_beside_it(self, made: Awx, apply: Apply) -> None:
        before = json.dumps(made.objects["job_templates"])[:-1]
        apply(ovn_awx_name="Lab")
        assert json.dumps(made.objects["job_templates"]).startswith(before)
        assert made.named("job_templates", "Lab site")
        assert apply().result["changed"] is False

    def test_what_was_changed_by_hand_is_put_right_and_nothing_else(self, made: Awx, apply: Apply) -> None:
        made.named("job_templates", "OVN site")["job_type"] = "check"
        made.named("projects", "OVN")["scm_branch"] = "old"
        template = made.named("job_templates", "OVN verify")
        made.surveys[template["id"]]["spec"].pop()
        made.linked[template["id"], "credentials"].pop()
        workflow = made.named("workflow_job_templates", "OVN adopt with approval")
        nodes = made.objects["workflow_job_template_nodes"]
        ours = {one["identifier"]: one for one in nodes.values() if one["workflow_job_template"] == workflow["id"]}
        # Somebody has gone around the approval, and has a node of their own.
        made.linked[ours["check"]["id"], "success_nodes"] = [ours["run"]["id"]]
        made.linked[ours["check"]["id"], "failure_nodes"] = [ours["verify"]["id"]]
        made.linked[ours["approve"]["id"], "success_nodes"] = []
        made.linked[ours["approve"]["id"], "always_nodes"] = [ours["run"]["id"]]
        own = made.add("workflow_job_template_nodes", workflow_job_template=workflow["id"], identifier="mine")
        made.linked[ours["verify"]["id"], "success_nodes"] = [own]
        made.objects["workflow_approval_templates"][ours["approve"]["unified_job_template"]]["timeout"] = 1

        predicted = objects(apply(check=True))
        assert made.writes == []
        assert objects(apply()) == predicted
        assert sorted(predicted) == sorted(
            [
                'updated project "OVN"',
                'updated job template "OVN site"',
                'updated survey of job template "OVN verify"',
                'attached credentials of job template "OVN verify"',
                'updated node approve of workflow job template "OVN adopt with approval"',
                'detached node approve of workflow job template "OVN adopt with approval"',
                'attached node check of workflow job template "OVN adopt with approval"',
                'attached node approve of workflow job template "OVN adopt with approval"',
                'detached node check of workflow job template "OVN adopt with approval"',
                'detached node check of workflow job template "OVN adopt with approval"',
            ]
        )
        assert made.linked[ours["check"]["id"], "success_nodes"] == [ours["approve"]["id"]]
        assert made.linked[ours["check"]["id"], "failure_nodes"] == []
        assert made.linked[ours["approve"]["id"], "success_nodes"] == [ours["run"]["id"]]
        assert made.linked[ours["approve"]["id"], "always_nodes"] == []
        assert made.linked[ours["verify"]["id"], "success_nodes"] == [own]
        assert apply().result["changed"] is False

    def test_a_node_that_was_deleted_or_starts_something_else(self, made: Awx, apply: Apply) -> None:
        workflow = made.named("workflow_job_templates", "OVN adopt with approval")
        nodes = made.objects["workflow_job_template_nodes"]
        ours = {one["identifier"]: one for one in nodes.values() if one["workflow_job_template"] == workflow["id"]}
        ours["approve"]["unified_job_template"] = made.named("job_templates", "OVN status")["id"]
        del nodes[ours["run"]["id"]]
        made.linked[ours["approve"]["id"], "success_nodes"] = []
        assert objects(apply(check=True)) == objects(apply()) != []
        assert apply().result["changed"] is False

    def test_a_way_around_through_a_node_of_others_is_told(self, made: Awx, apply: Apply) -> None:
        workflow = made.named("workflow_job_templates", "OVN adopt with approval")
        nodes = made.objects["workflow_job_template_nodes"].values()
        ours = {one["identifier"]: one for one in nodes if one["workflow_job_template"] == workflow["id"]}
        mine = made.add("workflow_job_template_nodes", workflow_job_template=workflow["id"], identifier="mine")
        made.linked[mine, "always_nodes"] = [ours["run"]["id"]]
        ran = apply()
        assert ran.result["changed"] is False
        (warning,) = map(json.dumps, ran.result["warnings"])  # its form depends on the version of Ansible
        assert "Node mine of workflow job template" in warning
        assert "leads to node run: that starts after it, approved or not" in warning
        assert made.linked[mine, "always_nodes"] == [ours["run"]["id"]]

    def test_another_credential_takes_the_place_of_one_of_its_type(self, made: Awx, apply: Apply) -> None:
        number = made.named("organizations", "Networks")["id"]
        kinds = {one["name"]: one["id"] for one in made.objects["credential_types"].values()}
        made.add("credentials", name="ssh 2", credential_type=kinds["ssh"], organization=number)
        made.add(
            "credentials", name="vault 2", credential_type=kinds["vault"], organization=number, inputs={"vault_id": "b"}
        )
        wanted = ["ssh 2", "vault", "vault 2"]
        predicted = objects(apply(check=True, ovn_awx_credentials=wanted))
        assert made.writes == []
        assert objects(apply(ovn_awx_credentials=wanted)) == predicted
        assert {line.partition(" of ")[0] for line in predicted} == {"detached credentials", "attached credentials"}
        linked = made.linked[made.named("job_templates", "OVN site")["id"], "credentials"]
        assert [made.objects["credentials"][one]["name"] for one in linked] == ["vault", "ssh 2", "vault 2"]
        assert apply(ovn_awx_credentials=wanted).result["changed"] is False

    def test_two_credentials_of_one_type_are_refused(self, made: Awx, apply: Apply) -> None:
        number = made.named("organizations", "Networks")["id"]
        kind = made.named("credential_types", "ssh")["id"]
        made.add("credentials", name="ssh 2", credential_type=kind, organization=number)
        message = refusal(apply(may_fail=True, ovn_awx_credentials=["ssh", "ssh 2"]), made)
        assert 'The credentials "ssh" and "ssh 2" have the same type' in message

    def test_one_credential_as_a_text(self, made: Awx, apply: Apply) -> None:
        assert apply(ovn_awx_credentials="ssh").result["changed"] is False
        assert apply(ovn_awx_credentials="ssh, vault").result["changed"] is False

    def test_headers_and_password_of_the_notification_stay(self, made: Awx, apply: Apply) -> None:
        there = made.named("notification_templates", "OVN")["notification_configuration"]
        there |= {"headers": {"X-Room": "ovn"}, "username": "hook", "password": "of-the-hook"}
        assert apply().result["changed"] is False
        ran = apply(ovn_awx_notification_url="https://chat.example.com/secret-2")
        now = made.named("notification_templates", "OVN")["notification_configuration"]
        assert now == {**there, "url": "https://chat.example.com/secret-2"}
        assert objects(ran) == ['updated notification template "OVN"']
        assert "/hook" not in json.dumps(ran.result)
        assert "secret-2" not in json.dumps(ran.result)

    def test_a_password_in_an_address_is_not_shown(self, made: Awx, apply: Apply) -> None:
        for token in ("tok-1", "tok-2"):
            ran = apply(ovn_awx_inventory={"url": f"https://user:{token}@git.example.com/inventory.git"})
            assert objects(ran) == ['updated project "OVN inventory"']
            assert "tok-" not in json.dumps(ran.result)
            assert made.named("projects", "OVN inventory")["scm_url"].count(token) == 1

    def test_a_playbook_that_the_project_lacks_is_fetched(self, made: Awx, apply: Apply) -> None:
        project = made.named("projects", "OVN")["id"]
        made.files[project].discard("playbooks/ping.yml")
        ping = made.named("job_templates", "OVN ping")["id"]
        del made.objects["job_templates"][ping]
        assert 'created job template "OVN ping"' in objects(apply())
        assert made.writes[0] == ("POST", f"{BASE}projects/{project}/update/")
        assert made.writes.count(made.writes[0]) == 1
        assert apply().result["changed"] is False

    def test_nothing_is_deleted(self, made: Awx, apply: Apply) -> None:
        apply(ovn_awx_notification_url="", ovn_awx_inventory={"url": ""}, ovn_awx_credentials=[])
        assert not [method for method, _path in made.requests if method == "DELETE"]
        assert made.named("notification_templates", "OVN")
        assert made.named("inventory_sources", "OVN")

    def test_pages_of_a_long_list_are_all_read(self, made: Awx, apply: Apply) -> None:
        number = made.named("organizations", "Networks")["id"]
        # The others come first, so that ours are on the second page.
        template = made.objects["job_templates"].popitem()[1]
        for other in range(205):
            made.objects["job_templates"][-other - 1] = {**template, "id": -other - 1, "name": f"other {other}"}
        made.objects["job_templates"][template["id"]] = template
        assert {one["organization"] for one in made.objects["job_templates"].values()} == {number}
        assert apply().result["changed"] is False
        assert made.requests.count(("GET", f"{BASE}job_templates/")) == 2


class TestOthers:
    def test_objects_of_others_are_refused_all_at_once(self, awx: Awx, apply: Apply) -> None:
        number = awx.named("organizations", "Networks")["id"]
        awx.add("inventories", name="OVN", organization=number, description="made by hand")
        awx.add("workflow_job_templates", name="OVN site with approval", organization=number)
        message = refusal(apply(may_fail=True), awx)
        assert 'inventory "OVN", workflow job template "OVN site with approval"' in message
        assert "ovn_awx_take_over" in message
        assert refusal(apply(may_fail=True, check=True), awx) == message

        assert refusal(apply(may_fail=True, take_over=["OVN", "OVN site with approval"]), awx) == message
        apply(take_over=['inventory "OVN"', 'workflow job template "OVN site with approval"'])
        assert awx.named("inventories", "OVN")["description"].endswith("(c5c3.ovn.awx)")
        assert apply().result["changed"] is False

    def test_an_execution_environment_of_another_organization_stays(self, awx: Awx, apply: Apply) -> None:
        other = awx.named("organizations", "Others")["id"]
        awx.add("execution_environments", name="OVN", organization=other, image="i", description="x (c5c3.ovn.awx)")
        message = refusal(apply(may_fail=True, take_over=['execution environment "OVN"']), awx)
        assert 'execution environment "OVN" (of another organization)' in message
        assert apply(ovn_awx_name="Lab").result["changed"] is True

    def test_those_of_another_organization_do_not_count(self, awx: Awx, apply: Apply) -> None:
        other = awx.named("organizations", "Others")["id"]
        awx.add("inventories", name="OVN", organization=other, description="theirs")
        apply()
        assert [one["description"] for one in awx.objects["inventories"].values() if one["organization"] == other] == [
            "theirs"
        ]

    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ({"organization": "Nowhere"}, 'has no organization "Nowhere"'),
            ({"token": "wrong"}, "knows no such user or token"),
            ({"ovn_awx_credentials": ["nobody"]}, 'has no credential "nobody"'),
            ({"host": "http://127.0.0.1:1"}, "cannot be reached"),
            ({"data": {"teams": []}}, "teams, which is no kind of object"),
            ({"data": {"inventories": [{"name": "OVN", "description": "bare"}]}}, 'does not end with "(c5c3.ovn.awx)"'),
        ],
    )  # fmt: skip
    def test_impossible_settings_are_refused_before_any_change(
        self, awx: Awx, apply: Apply, given: dict[str, t.Any], says: str
    ) -> None:
        assert says in refusal(apply(may_fail=True, **given), awx)

    def test_a_token_without_the_right(self, awx: Awx, apply: Apply) -> None:
        awx.forbidden.add(("POST", "credential_types"))
        assert 'did not create credential type "OVN Kubernetes clusters": the user of the token may not do that' in str(
            apply(may_fail=True).result["msg"]
        )

    def test_an_error_in_the_middle_is_finished_by_the_next_run(self, awx: Awx, apply: Apply) -> None:
        awx.broken["POST", f"{BASE}schedules/"] = 502
        message = str(apply(may_fail=True).result["msg"])
        assert 'did not create schedule "OVN site daily": error 502' in message
        awx.broken.clear()
        assert objects(apply()) == [
            'created schedule "OVN site daily"',
            'created schedule "OVN verify hourly"',
            'created schedule "OVN reconcile ten minutes"',
            'created schedule "OVN neutron weekly"',
        ]

    def test_no_node_ever_starts_without_its_approval(self, awx: Awx, apply: Apply) -> None:
        """AWX starts each node that nothing leads to, so one run after another is cut off after each request for nodes."""
        data = resources()
        data["workflow_job_templates"] = data["workflow_job_templates"][:1] + data["workflow_job_templates"][-1:]
        data["schedules"] = []
        for attempt in range(30):
            awx.last = attempt % 2  # each run gets no or one write of nodes further
            ran = apply(may_fail=True, data=data)
            behind = {to for (_node, name), linked in awx.linked.items() if name.endswith("_nodes") for to in linked}
            nodes = awx.objects["workflow_job_template_nodes"].values()
            assert {node["identifier"] for node in nodes if node["id"] not in behind} <= {"check"}
            if not ran.failed:
                break
        awx.last = None
        assert apply(data=data).result["changed"] is False
        assert len(nodes) == 7

    def test_refusal_of_awx_is_reported_with_its_reason(self, awx: Awx, apply: Apply) -> None:
        awx.playbooks.discard("playbooks/ping.yml")
        message = str(apply(may_fail=True).result["msg"])
        assert 'did not create job template "OVN ping": playbook: not found in the project' in message
        assert re.search(r"\d+ changes before it were made; the next run goes on", message)

    def test_a_project_that_cannot_be_fetched(self, awx: Awx, apply: Apply) -> None:
        awx.fetched = "failed"
        assert 'did not fetch the project "OVN": its update ended as failed' in str(apply(may_fail=True).result["msg"])

    def test_a_project_that_takes_too_long(self, awx: Awx, apply: Apply) -> None:
        awx.fetching = 99
        message = str(apply(may_fail=True, wait_timeout=0.1).result["msg"])
        assert "Timed out after 0.1 s waiting for AWX to fetch" in message

    def test_inputs_of_a_type_in_use_stay(self, awx: Awx, apply: Apply) -> None:
        apply()
        kind = awx.named("credential_types", "OVN Kubernetes clusters")
        number = awx.named("organizations", "Networks")["id"]
        awx.add("credentials", name="clusters", credential_type=kind["id"], organization=number)
        assert apply(ovn_awx_credentials=["ssh", "clusters"]).result["changed"] is True
        kind["inputs"] = {"fields": []}
        awx.named("projects", "OVN")["scm_branch"] = "old"
        message = refusal(apply(may_fail=True), awx)
        assert (
            'fields of credential type "OVN Kubernetes clusters" while credentials have that type: clusters.' in message
        )
        # The step that it names works.
        kind["name"] = "OVN Kubernetes clusters (former)"
        assert 'created credential type "OVN Kubernetes clusters"' in objects(apply())
        assert apply().result["changed"] is False


class TestConnection:
    def test_with_a_user_and_behind_the_gateway_of_a_platform(self, awx: Awx, apply: Apply) -> None:
        awx.prefix = "/api/controller"
        apply(token=None, username=USER, password=PASSWORD)
        assert apply(token=None, username=USER, password=PASSWORD).result["changed"] is False

    def test_another_server_is_no_awx(self, awx: Awx, apply: Apply) -> None:
        awx.broken["GET", "/api/"] = 200
        assert "is not the API of AWX" in refusal(apply(may_fail=True), awx)

    def test_a_certificate_that_is_not_trusted(self, awx: Awx, apply: Apply, pki: Pki) -> None:
        """The server speaks TLS from here on."""
        files = pki.issue("localhost", addresses=["127.0.0.1"])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(files.certificate, files.private_key)
        with serving(Awx(PLAYBOOKS, fetching=1), context) as secure:
            organization(secure)
            assert "is not trusted" in refusal(apply(may_fail=True, host=secure.host), secure)
            assert apply(host=secure.host, ca_certificate=files.ca_certificate).result["changed"] is True
