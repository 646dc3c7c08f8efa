"""Which kubeconfigs are read from a vault."""

from __future__ import annotations

import pathlib
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.plugin_utils._kubeconfig import decrypted_kubeconfig


class Loader:
    @staticmethod
    def get_real_file(path: str, *, decrypt: bool) -> str:
        return f"decrypted {path}" if decrypt else path


@pytest.mark.parametrize(
    ("kubeconfig", "expected"),
    [
        pytest.param("~/config", "decrypted {home}/config", id="home"),
        pytest.param("$HOME/config", "decrypted {home}/config", id="variable of the environment"),
        pytest.param("{home}/config", "decrypted {home}/config", id="path"),
        pytest.param("~/nowhere", "~/nowhere", id="no file"),
        pytest.param("~/config:~/config", "~/config:~/config", id="several"),
        pytest.param({"kind": "Config"}, {"kind": "Config"}, id="content"),
        pytest.param(None, None, id="none"),
        pytest.param("", "", id="empty"),
    ],
)
def test_decrypted_kubeconfig(
    kubeconfig: t.Any, expected: t.Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "config").touch()
    given, result = (one.format(home=tmp_path) if isinstance(one, str) else one for one in (kubeconfig, expected))
    assert decrypted_kubeconfig(Loader(), given) == result
