"""What the module says on a machine without the library that reads certificates."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
from ansible.module_utils import basic

from ansible_collections.c5c3.ovn.plugins.module_utils._pki import certificates
from ansible_collections.c5c3.ovn.plugins.modules import ovn_certificate


@pytest.mark.parametrize(
    ("state", "file_is_there", "failed"),
    [
        pytest.param("examined", False, False, id="nothing is there to be read"),
        pytest.param("examined", True, True, id="a file cannot be read"),
        pytest.param("present", False, True, id="nothing can be made"),
    ],
)
def test_without_the_library(
    state: str,
    file_is_there: bool,
    failed: bool,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    paths = {option: str(tmp_path / option) for option in ("private_key", "certificate", "ca_certificate")}
    if file_is_there:
        (tmp_path / "ca_certificate").touch()
    monkeypatch.setattr(certificates, "CRYPTOGRAPHY_PROBLEM", "No module named cryptography")
    monkeypatch.delattr(certificates, "x509", raising=False)
    arguments = {**paths, "state": state, "common_name": "compute-1", "issuer": "some text"}
    # Ansible's own helper for this is younger than the oldest ansible-core.
    monkeypatch.setattr(basic, "_ANSIBLE_ARGS", json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode())
    monkeypatch.setattr(basic, "_ANSIBLE_PROFILE", "legacy", raising=False)
    with pytest.raises(SystemExit):
        ovn_certificate.main()
    result: dict[str, t.Any] = json.loads(capsys.readouterr().out)
    assert result.get("failed", False) is failed
    assert result.get("library_missing", False) is failed
    if not failed:
        assert (result["ca_installed"], result["in_service"], result["changed"]) == (False, False, False)
