"""What is asked of apt, with answers of a host that is made up."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._machine.installed_packages import read_sources


@pytest.fixture(autouse=True)
def _no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("http_proxy", raising=False)


def test_the_mirrors_of_a_file_are_the_archives(tmp_path: pathlib.Path) -> None:
    mirrors = tmp_path / "mirrors.list"
    mirrors.write_text("https://deb.example.com/debian\n")
    uri = f"'mirror+file:{mirrors}/dists/bookworm/InRelease' name_InRelease 0\n"
    uri += f"'mirror+file:{tmp_path}/gone.list/dists/bookworm/InRelease' other_InRelease 0\n"
    answers = {"update": uri, "shell": "", "dump": ""}
    assert read_sources(lambda *command: answers[command[1]], [], "").archives == (
        [("deb.example.com", 443)],
        ["mirror+file:"],
    )


def test_a_source_without_its_list_is_noticed(tmp_path: pathlib.Path) -> None:
    uris = "".join(f"'http://{name}.example.com/x/InRelease' {name}.example.com_x_InRelease 0 \n" for name in "ab")
    answers = {"update": uris, "shell": f"LISTS='{tmp_path}/lists'\n", "dump": ""}

    def complete() -> bool:
        return read_sources(lambda *command: answers[command[1]], [], "").complete

    assert not complete()  # not even the folder is there
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "a.example.com_x_main_binary-amd64_Packages.lz4").touch()
    assert not complete()
    (tmp_path / "lists" / "b.example.com_x_InRelease").touch()
    assert complete()


@pytest.mark.parametrize(
    ("settings", "archive", "added"),
    [
        pytest.param("", ("proxy.example.com", 3128), ("proxy.example.com", 3128), id="the proxy of the run"),
        pytest.param(
            'Acquire::http::Proxy "http://own.example.com";\n',
            ("own.example.com", 80),
            ("own.example.com", 80),
            id="its own",
        ),
        pytest.param(
            'Acquire::https::Proxy "DIRECT";\n',
            ("proxy.example.com", 3128),
            ("ovn.example.com", 443),
            id="its own for one",
        ),
    ],
)
def test_the_source_and_the_proxy_of_a_run(settings: str, archive: tuple[str, int], added: tuple[str, int]) -> None:
    answers = {"update": "'http://deb.example.com/x/InRelease' name_InRelease 0 \n", "shell": "", "dump": settings}
    found = read_sources(
        lambda *command: answers[command[1]], ["https://ovn.example.com/deb"], "http://proxy.example.com:3128"
    )
    assert (found.archives.places, found.added.places) == ([archive], [added])


def test_the_proxy_of_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of /etc/environment, for example."""
    monkeypatch.setenv("http_proxy", "http://session.example.com:8080")
    answers = {"update": "'http://deb.example.com/x/InRelease' name_InRelease 0 \n", "shell": "", "dump": ""}
    places = [
        read_sources(lambda *command: answers[command[1]], [], proxy).archives.places
        for proxy in ("", "http://run.example.com")
    ]
    assert places == [[("session.example.com", 8080)], [("run.example.com", 80)]]
