"""What is asked of apt, with answers of a host that is made up."""

from __future__ import annotations

import pathlib

from ansible_collections.c5c3.ovn.plugins.module_utils._packages.observe import read_archives


def test_the_mirrors_of_a_file_are_the_archives(tmp_path: pathlib.Path) -> None:
    mirrors = tmp_path / "mirrors.list"
    mirrors.write_text("https://deb.example.com/debian\n")
    uri = f"'mirror+file:{mirrors}/dists/bookworm/InRelease' name_InRelease 0\n"
    uri += f"'mirror+file:{tmp_path}/gone.list/dists/bookworm/InRelease' other_InRelease 0\n"
    answers = {"apt-get": uri, "apt-config": ""}
    assert read_archives(lambda *command: answers[command[0]]) == ([("deb.example.com", 443)], ["mirror+file:"])
