"""The gates and tests of the collection: `make test` runs all sessions, `.venv/bin/nox -s NAME` one of them.

Everything runs with the tools of .venv (ansible-core 2.19), except `importer`, `oldest` and `newest`, which have their own environments.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nox
import yaml

HERE = Path(__file__).resolve().parent
COLLECTIONS = HERE / ".nox" / "collections"  # what ansible-test and others need: .../ansible_collections/c5c3/ovn
UTILITIES = "ansible_collections.c5c3.ovn.plugins.module_utils"
COLLECTION = COLLECTIONS / "ansible_collections" / "c5c3" / "ovn"
ONLY_THESE = {"ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "ANSIBLE_HOME": str(HERE / ".nox" / "ansible")}
BIN = Path(sys.executable).parent
_CACHE = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
TESTBED_CACHE = Path(os.environ.get("TESTBED_CACHE") or Path(_CACHE, "c5c3-ovn-testbed"))
SCENARIOS = {"MOLECULE_GLOB": "molecule/*/molecule.yml"}
# Scenarios of molecule that do not run without being asked for: clusters, and stories that add to what other tests tell.
SCENARIOS_ON_REQUEST = ("kind", "more")

# Shims of version managers answer for every Python and fail for most: ansible-test would trust them.
os.environ["PATH"] = os.pathsep.join(
    [str(BIN), *(p for p in os.environ["PATH"].split(os.pathsep) if Path(p).name != "shims")]
)
os.environ["PY_COLORS"] = os.environ["ANSIBLE_FORCE_COLOR"] = "0"
# Images of containers forbid byte code, and then each of thousands of processes compiles Ansible and its libraries again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
nox.options.default_venv_backend = "none"
nox.options.reuse_venv = "yes"


def files_of_the_repository() -> list[str]:
    """What git knows or would add: neither caches nor what the commands leave behind."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=HERE,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return sorted({name for name in listed.split("\0") if name and (HERE / name).is_file()})


@functools.cache
def copy_of_collection() -> Path:
    """Bring the copy up to date: only a physical folder below ansible_collections is a collection to ansible-test.

    Beside it stand the collections it depends on, and no others: reading the documentation of all takes minutes.
    """
    if not (COLLECTION / ".git").exists():  # or tools ask the repository above, which ignores this folder
        subprocess.run(["git", "init", "--quiet", str(COLLECTION)], check=True)
    wanted = files_of_the_repository()
    for name in wanted:
        source, target = HERE / name, COLLECTION / name
        if not target.exists() or (source.stat().st_mtime, source.stat().st_mode) != (
            target.stat().st_mtime,
            target.stat().st_mode,
        ):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    for dependency in yaml.safe_load((HERE / "galaxy.yml").read_text())["dependencies"]:
        link = COLLECTIONS.joinpath("ansible_collections", *dependency.split("."))
        if not link.exists():
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(site_packages(sys.executable).joinpath("ansible_collections", *dependency.split(".")))
    keep = {COLLECTION / name for name in wanted}
    for path in sorted(COLLECTION.rglob("*"), reverse=True):
        if {".git", "output"} & set(
            path.relative_to(COLLECTION).parts
        ):  # ansible-test keeps an environment in tests/output
            continue
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif path not in keep:
            path.unlink()
    return COLLECTION


def site_packages(python: str | Path) -> Path:
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(subprocess.run([str(python), "-c", code], check=True, capture_output=True, text=True).stdout.strip())


def install(session: nox.Session, requirements: str) -> Path:
    """Install a pinned list unless the environment already has exactly that."""
    wanted = (HERE / requirements).read_text()
    stamp = Path(session.virtualenv.location) / "requirements.txt"
    if not stamp.exists() or stamp.read_text() != wanted:
        session.install("--requirement", str(HERE / requirements))
        stamp.write_text(wanted)
    return Path(session.virtualenv.location) / "bin" / "python"


def not_tested(session: nox.Session, reason: str) -> None:
    session.skip(f"!!! NOT TESTED HERE: {session.name}: {reason}")


def unit_tests(session: nox.Session, python: str | Path) -> None:
    link = site_packages(python) / "ansible_collections" / "c5c3" / "ovn"
    if not link.exists():
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(HERE)
    session.run(str(python), "-m", "pytest", "tests/unit", *session.posargs, external=True)


def sanity_tests(session: nox.Session, python: str | Path, *names: str) -> None:
    """ansible-test with its own virtual environments, all tests or those with these names; pip comes from PyPI."""
    cache = Path.home() / ".ansible" / "test" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    for version in ("24.2", "25.2"):
        script = cache / f"get_pip_{version.replace('.', '_')}.py"
        if not script.exists():
            session.run(
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--dest",
                str(cache),
                f"pip=={version}",
                external=True,
            )
            shutil.copy(HERE / "requirements" / "get_pip.py", script)
    with session.chdir(copy_of_collection()):
        ansible_test = str(Path(python).parent / "ansible-test")
        session.run(
            ansible_test,
            "sanity",
            "--venv",
            "--python",
            "default",
            "--color",
            "no",
            *(word for name in names for word in ("--test", name)),
            *session.posargs,
            external=True,
        )


@nox.session
def style(session: nox.Session) -> None:
    """Formatting, unused code, YAML, shell, licenses."""
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    session.run("yamllint", "--strict", ".")
    scripts = [name for name in files_of_the_repository() if is_shell(HERE / name)]
    session.run("shellcheck", "--external-sources", *scripts)
    for name in ("raft_launcher", "chassis_launcher", "metadata_agent_launcher"):  # scripts that modules carry
        with tempfile.NamedTemporaryFile("w", prefix=name) as launcher:
            launcher.write(importlib.import_module(f"{UTILITIES}._daemons.{name}").SCRIPT)
            launcher.flush()
            session.run("shellcheck", launcher.name)
    session.run("reuse", "lint", "--quiet")


def is_shell(path: Path) -> bool:
    with path.open("rb") as file:
        first = file.readline()
    return path.suffix == ".sh" or (first.startswith(b"#!") and first.strip().endswith((b"/sh", b"/bash", b"env bash")))


@nox.session
def types(session: nox.Session) -> None:
    """Strict types in all plugins."""
    copy = copy_of_collection()
    packages = sorted(
        ".".join(("ansible_collections.c5c3.ovn.plugins", folder.name))
        for folder in (copy / "plugins").iterdir()
        if any(folder.rglob("*.py"))
    )
    with session.chdir(copy):
        cache = HERE / ".nox" / "mypy"
        arguments = [argument for package in packages for argument in ("-p", package)]
        session.run("mypy", "--cache-dir", str(cache), *arguments, env={"MYPYPATH": str(COLLECTIONS)})


@nox.session
def lint(session: nox.Session) -> None:
    """ansible-lint, profile production."""
    with session.chdir(copy_of_collection()):
        session.run("ansible-lint", "--offline", "--strict", "--profile", "production", env=ONLY_THESE)


@nox.session
def docs(session: nox.Session) -> None:
    """Documentation of every plugin and role, changelog."""
    with session.chdir(copy_of_collection()):
        session.run("antsibull-changelog", "lint", env=ONLY_THESE)
        session.run("antsibull-changelog", "lint-changelog-yaml", "changelogs/changelog.yaml")
        session.run(
            *("antsibull-docs", "lint-collection-docs", "--plugin-docs", "--validate-collection-refs=dependent"),
            *("--check-extra-docs-refs", "--skip-rstcheck", "."),
            env=ONLY_THESE,
        )
        with tempfile.TemporaryFile("w+") as dump:
            session.run("ansible-doc", "--metadata-dump", "c5c3.ovn", env=ONLY_THESE, stdout=dump)
            dump.seek(0)
            documented = {name for plugins in json.load(dump)["all"].values() for name in plugins}
    missing = sorted(set(names_to_document()) - documented)
    if missing:
        session.error(f"ansible-doc shows nothing for {', '.join(missing)}")


@nox.session
def docsite(session: nox.Session) -> None:
    """Build the documentation as a site, follow its links, open its front page in Chromium."""
    if os.geteuid() == 0 and shutil.which("apt-get"):
        session.run("tests/testbed/packages", "browser", external=True)
    session.run("pytest", "tests/docs", *session.posargs)
    session.log("The front page: .nox/docsite/html/index.html")


def names_to_document() -> list[str]:
    plugins = [
        path for folder in ("modules", "inventory", "filter") for path in (HERE / "plugins" / folder).glob("*.py")
    ]
    roles = [path for path in (HERE / "roles").glob("*") if path.is_dir()]
    return [f"c5c3.ovn.{path.stem}" for path in (*plugins, *roles) if not path.name.startswith("_")]


@nox.session
def sanity(session: nox.Session) -> None:
    """ansible-test sanity."""
    sanity_tests(session, sys.executable)


@nox.session(venv_backend="uv|virtualenv")
def importer(session: nox.Session) -> None:
    """Build the collection and let Galaxy's importer judge it."""
    python = install(session, "requirements/importer.txt")
    built = HERE / ".nox" / "built"
    shutil.rmtree(built, ignore_errors=True)
    with session.chdir(copy_of_collection()):
        session.run(str(BIN / "ansible-galaxy"), "collection", "build", "--output-path", str(built), external=True)
    with session.chdir(built):
        session.run(str(python), "-m", "galaxy_importer.main", next(path.name for path in built.iterdir()))


@nox.session
def unit(session: nox.Session) -> None:
    """Unit tests: nothing but Python."""
    unit_tests(session, sys.executable)


def first_python(*versions: str) -> str | None:
    """The first of these versions of Python that is here. Shims of version managers may have nothing behind them."""
    for version in versions:
        on_path = shutil.which(f"python{version}")
        for candidate in (on_path, *Path.home().glob(f".pyenv/versions/{version}.*/bin/python3")):
            probe = [str(candidate), "-c", "import ssl, venv"]
            if candidate and subprocess.run(probe, capture_output=True, check=False).returncode == 0:
                return str(candidate)
    return None


# What ansible-core 2.16 and 2.21 run on.
OLDEST_PYTHON = first_python("3.11", "3.10", "3.12")
NEWEST_PYTHON = first_python("3.14", "3.13", "3.12")
# What a version of ansible-core has a say in; the others read the same lines in `sanity`.
OF_ANSIBLE_CORE = ("action-plugin-docs", "ansible-doc", "import", "runtime-metadata", "validate-modules")
# Playbooks and modules on daemons of this machine, with the oldest versions: what differs between versions of ansible-core is how roles are templated.
# The others are Neutron without TLS, and one test for each library that these do not use: signing, the report of real databases, an apply and a websocket to
# an API server.
ON_OLDEST = (
    "tests/integration/test_oldest.py",
    "tests/integration/test_pki.py::test_first_run_then_the_same_again",
    "tests/integration/test_neutron_machine.py::test_a_certificate_comes_with_tls_alone_and_no_password_is_found_by_trial",
    "tests/integration/test_verify.py::test_one_call_asks_a_host_everything",
    "tests/integration/test_k8s_api.py::TestApply::test_everything_is_created_and_the_second_run_writes_nothing",
    "tests/integration/test_k8s_api.py::TestRefusals::test_a_pod_that_is_not_there",
)


@nox.session(venv_backend="uv|virtualenv", python=OLDEST_PYTHON)
def oldest(session: nox.Session) -> None:
    """Unit tests and some of the integration tests with the oldest versions that the collection declares."""
    if OLDEST_PYTHON is None:
        not_tested(session, "ansible-core 2.16 needs Python 3.10, 3.11 or 3.12: none on PATH or in ~/.pyenv")
    python = install(session, "requirements/oldest.txt")
    unit_tests(session, python)
    if os.geteuid() != 0 or shutil.which("ovsdb-server") is None:
        session.warn(
            f"!!! NOT TESTED HERE: {session.name} with daemons: it needs root and ovsdb-server (nox -s integration installs it)"
        )
        return
    api_server(session)
    session.run(str(python), "-m", "pytest", *ON_OLDEST, "--numprocesses=2", external=True)


@nox.session(venv_backend="uv|virtualenv")
def python39(session: nox.Session) -> None:
    """What pods and machines run needs nothing newer than Python 3.9: read everywhere, and imported where this Python is."""
    python = install(session, "requirements/python39.txt")
    arguments = ("--target=3.9-", "--no-tips", "--violations", "plugins/module_utils", "plugins/modules")
    session.run(str(python.with_name("vermin")), *arguments)
    oldest_promised = first_python("3.9")
    if oldest_promised is None:
        not_tested(session, "importing the archive needs Python 3.9: it is neither on PATH nor in ~/.pyenv")
    archive = "tests/unit/plugins/module_utils/_agent/test_archive.py"
    session.run(str(BIN / "pytest"), archive, env={"C5C3_OVN_AGENT_PYTHON": oldest_promised}, external=True)


@nox.session(venv_backend="uv|virtualenv", python=NEWEST_PYTHON)
def newest(session: nox.Session) -> None:
    """Unit tests, the sanity tests of plugins and roles, and the syntax of the playbooks with the newest ansible-core."""
    if NEWEST_PYTHON is None:
        not_tested(session, "the newest ansible-core needs Python 3.12 or newer: none on PATH or in ~/.pyenv")
    python = install(session, "requirements/newest.txt")
    unit_tests(session, python)
    sanity_tests(session, python, *OF_ANSIBLE_CORE)
    playbooks = sorted(str(path) for path in (copy_of_collection() / "playbooks").glob("*.yml"))
    syntax_check = (str(python.with_name("ansible-playbook")), "--inventory", "localhost,", "--syntax-check")
    session.run(*syntax_check, *playbooks, env=ONLY_THESE)


def daemons(session: nox.Session, *sets: str) -> None:
    """Debian's packages for tests on real daemons; their services are not started."""
    if os.geteuid() != 0:
        not_tested(session, "it needs root")
    if shutil.which("apt-get") is None:
        not_tested(session, "it needs the OVN packages of Debian, and there is no apt-get")
    session.run("tests/testbed/packages", *sets, external=True)


def api_server(session: nox.Session) -> None:
    """kube-apiserver and etcd in the cache of the test bed; without them, the rest is tested, and a line says so.

    With C5C3_OVN_REQUIRE_ALL=1 (continuous integration) it is an error.
    """
    if shutil.which("kube-apiserver", path=os.environ.get("KUBEBUILDER_ASSETS", "")):
        return
    build = ["tests/testbed/node-image/build"]
    listed = subprocess.run([*build, "missing", "api-server"], cwd=HERE, check=True, capture_output=True, text=True)
    missing = ", ".join(listed.stdout.split())
    if not missing:
        return
    log = HERE / ".nox" / "api-server.log"
    log.parent.mkdir(exist_ok=True)
    go = subprocess.run(["tests/testbed/need-go"], cwd=HERE, check=False, stdout=subprocess.PIPE, text=True)
    if go.returncode == 0:
        session.log(
            f"Building {missing} from Go modules for the tests against an API server: once, six to ten minutes on two"
            f" processors; they stay in the cache of the test bed (log: {log.relative_to(HERE)})"
        )
        with log.open("w") as output:
            built = subprocess.run([*build, "api-server"], cwd=HERE, check=False, stdout=output, stderr=output)
        if built.returncode == 0:
            return
        reason = f"building {missing} failed, read {log.relative_to(HERE)}"
    else:
        reason = f"missing: {go.stdout.strip()} to build {missing}"
    if os.environ.get("C5C3_OVN_REQUIRE_ALL") == "1":
        session.error(f"No tests against a real API server, and C5C3_OVN_REQUIRE_ALL=1: {reason}")
    session.warn(f"!!! NOT TESTED HERE: {session.name} against a real API server: {reason}")


@nox.session
def integration(session: nox.Session) -> None:
    """Real OVSDB servers, northd, ovn-controller, vswitchd and API servers on loopback, in folders of their own.

    `-m api_server` and `-m "not api_server"` are the two halves; those of `-m own_machines` need no API server either. Files can be named, too.
    """
    daemons(session, "daemons")
    if not any("not api_server" in argument or argument == "own_machines" for argument in session.posargs):
        api_server(session)
    # The tests wait four fifths of their time. Each worker has an API server of its own, so the tests of a file need not stay together.
    # Files that are named are meant alone.
    everything = [] if any(argument.startswith("tests/") for argument in session.posargs) else ["tests/integration"]
    session.run("pytest", *everything, "--numprocesses=6", "--dist=worksteal", "--durations=60", *session.posargs)


@nox.session
def simulation(session: nox.Session) -> None:
    """Sequences of faults and runs in a model: named stories, mutants, a slice of the exploration. At most three minutes."""
    session.run("pytest", "tests/simulation", *session.posargs)


@nox.session(default=False)
def simulate(session: nox.Session) -> None:
    """The exploration alone; arguments go to it: `nox -s simulate -- --seed 7 --depth 10 --budget 600`."""
    session.run("python", "-m", "simulation", *session.posargs, env={"PYTHONPATH": str(HERE / "tests")})


@nox.session
def molecule(session: nox.Session) -> None:
    """Roles and playbooks on machines (systemd-nspawn)."""
    daemons(session, "daemons", "machines")
    session.log("What the playbooks of each story did, and what the daemons logged: .nox/molecule/")
    chosen = {"-s", "--scenario-name"} & {*session.posargs}
    excluded = [word for name in SCENARIOS_ON_REQUEST for word in ("--exclude", name)]
    scenarios = () if chosen else ("--all", *excluded)
    session.run("molecule", "test", *scenarios, "--report", *session.posargs, env=SCENARIOS)


@nox.session(default=False)
def kind(session: nox.Session) -> None:
    """Two kind clusters, the control plane in one, the hypervisors in the other; makes them if they are not there, and leaves them.

    The scenario `kind`, then the stories of tests/kind. Arguments go to pytest, and then there is no scenario.
    """
    if not session.posargs:
        # Molecule remembers that it has made the clusters, also after somebody has deleted them.
        env = {**SCENARIOS, "PATH": os.pathsep.join([str(TESTBED_CACHE / "bin"), os.environ["PATH"]])}  # kubectl
        session.run("molecule", "reset", "--scenario-name", "kind", env=env, silent=True)
        session.run("molecule", "test", "--scenario-name", "kind", "--destroy", "never", env=env)
    session.run("tests/testbed/kind", "test", *session.posargs, external=True)


@nox.session(default=False)
def chaos(session: nox.Session) -> None:
    """Random faults on real database servers under several writers; ON (hosts or pods), SEED and BUDGET (seconds) from the environment."""
    daemons(session, "daemons")
    if os.environ.get("ON") == "pods":
        api_server(session)
    session.run("python", "tests/chaos", *session.posargs)


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Ratios to a ping over the same hosts, in one run."""
    daemons(session, "daemons", "machines")
    session.run("python", "tests/bench", *session.posargs)
