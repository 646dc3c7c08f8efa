"""What a module leaves on the control node."""

from __future__ import annotations

import base64
import pathlib
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.tls_spec import ConfigMapReference
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.secret_files import files_of, read_certificates

DATA = {name: base64.b64encode(name.encode()).decode() for name in ("tls.key", "tls.crt", "ca.crt")}


def test_only_the_owner_may_read_them_and_they_do_not_stay(tmp_path: pathlib.Path) -> None:
    with files_of(DATA, str(tmp_path)) as files:
        assert {option: pathlib.Path(path).read_text(encoding="utf-8") for option, path in files.items()} == {
            "private_key": "tls.key",
            "certificate": "tls.crt",
            "ca_certificate": "ca.crt",
        }
        directory = pathlib.Path(files["private_key"]).parent
        modes = [path.stat().st_mode & 0o777 for path in (directory, *directory.iterdir())]
        assert modes == [0o700, 0o600, 0o600, 0o600]
    assert list(tmp_path.iterdir()) == []


def test_they_are_gone_after_a_failure(tmp_path: pathlib.Path) -> None:
    with pytest.raises(OvnError, match="no answer"), files_of(DATA, str(tmp_path)):
        raise OvnError("no answer")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("data", [{}, {**DATA, "ca.crt": ""}, {"tls.key": DATA["tls.key"]}])
def test_without_one_of_them_nothing_is_written(data: dict[str, str], tmp_path: pathlib.Path) -> None:
    with files_of(data, str(tmp_path)) as files:
        assert files == {}
        assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_no_part_of_them(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: pathlib.Path, _content: bytes) -> None:
        if path.name == "ca.crt":
            raise OSError("No space left on device")

    monkeypatch.setattr(pathlib.Path, "write_bytes", full)
    with pytest.raises(OvnError, match="No space left on device"), files_of(DATA, str(tmp_path)):
        raise AssertionError("files are missing")
    assert list(tmp_path.iterdir()) == []


def test_invalid_base64_is_reported(tmp_path: pathlib.Path) -> None:
    with (
        pytest.raises(OvnError, match="Cannot write key and certificate of the Secret"),
        files_of({**DATA, "tls.key": "x"}, str(tmp_path)),
    ):
        raise AssertionError("the key cannot be read")
    assert list(tmp_path.iterdir()) == []


class Objects:
    """Stands for the client of an API server with a Secret and ConfigMaps; None: what may not be read."""

    def __init__(self, secret: dict[str, t.Any] | None, config_maps: list[dict[str, t.Any]] | None) -> None:
        self.secret, self.config_maps = secret, config_maps

    def get(self, _version: str, _kind: str, name: str, _namespace: str) -> t.Any:
        return {"metadata": {"name": name}, "data": self.secret} if self.secret is not None else None

    def list(self, _version: str, kind: str, _namespace: str, *, fields: str) -> t.Any:
        assert (kind, fields) == ("ConfigMap", "metadata.name=trusted")
        if self.config_maps is None:
            raise Refused("may not list ConfigMaps")
        return self.config_maps


PAIR = {key: DATA[key] for key in ("tls.key", "tls.crt")}
BUNDLE = ConfigMapReference("trusted", "all.pem")
ENCODED = base64.b64encode(b"all").decode()


@pytest.mark.parametrize(
    ("secret", "config_maps", "expected"),
    [
        pytest.param(DATA, [{"data": {"all.pem": "all"}}], {**PAIR, "ca.crt": ENCODED}, id="in place of ca.crt"),
        pytest.param(PAIR, [{"binaryData": {"all.pem": ENCODED}}], {**PAIR, "ca.crt": ENCODED}, id="as binary data"),
        pytest.param(DATA, [{"data": {"ca.crt": "another key"}}], {**PAIR, "ca.crt": ""}, id="without the key"),
        pytest.param(DATA, [], {**PAIR, "ca.crt": ""}, id="no ConfigMap"),
        pytest.param(DATA, None, {**PAIR, "ca.crt": ""}, id="a ConfigMap that may not be read"),
        pytest.param(None, [{"data": {"all.pem": "all"}}], None, id="no Secret"),
    ],
)
def test_the_cas_of_a_configmap(secret: t.Any, config_maps: t.Any, expected: dict[str, str] | None) -> None:
    """Never those of the Secret, which are of another CA."""
    cluster = t.cast("t.Any", Objects(secret, config_maps))
    data, refusal = read_certificates(cluster, "ovn-tls", "net", BUNDLE)
    assert data == expected
    assert (refusal is None) == (config_maps is not None)
    assert read_certificates(cluster, "ovn-tls", "net", None) == (secret, None)
