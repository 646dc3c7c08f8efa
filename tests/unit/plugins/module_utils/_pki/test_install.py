"""The two calls for a new pair, and everything that may come between them."""

from __future__ import annotations

import dataclasses
import datetime
import os
import pathlib

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput, OvnError, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._pki import certificates, files, install

pytest.importorskip("cryptography", reason="NOT TESTED: the Python library cryptography is missing")

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NOW = datetime.datetime.now(datetime.timezone.utc)
DAY = datetime.timedelta(days=1)


class Authority:
    def __init__(self, name: str) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = self._builder(self.name, self.key.public_key())
        basic = x509.BasicConstraints(ca=True, path_length=0)
        self.certificate = builder.add_extension(basic, critical=True).sign(self.key, hashes.SHA256())
        self.pem = certificates.to_pem([self.certificate]).decode()

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW - DAY)
            .not_valid_after(NOW + 365 * DAY)
        )

    def sign(self, csr: str) -> str:
        request = x509.load_pem_x509_csr(csr.encode())
        key = request.public_key()
        assert isinstance(key, ec.EllipticCurvePublicKey)
        builder = self._builder(request.subject, key)
        for extension in request.extensions:
            builder = builder.add_extension(extension.value, extension.critical)
        return certificates.to_pem([builder.sign(self.key, hashes.SHA256())]).decode()


CA = Authority("CA")
OTHER = Authority("another CA")


@pytest.fixture
def request_(tmp_path: pathlib.Path) -> install.Request:
    folder = tmp_path / "etc" / "tls"
    return install.Request(
        private_key=str(folder / "chassis-key.pem"),
        certificate=str(folder / "chassis-cert.pem"),
        ca_certificate=str(folder / "ca.pem"),
        common_name="compute-1",
        subject_alt_names=("DNS:compute-1",),
        issuer=CA.pem,
        ca_bundle=CA.pem,
        renew_before_days=30,
        renew_on_issuer_change=True,
        remove_authorities=False,
        owned_by=files.Ownership(None, None),
    )


def first_call(request: install.Request) -> str:
    return install.apply_first(request, install.plan(request, NOW))


def test_two_calls_install_a_pair(request_: install.Request) -> None:
    csr = first_call(request_)
    assert sorted(os.listdir(os.path.dirname(request_.private_key))) == [".chassis-key.pem.pending", "ca.pem"]
    assert install.install(request_, CA.sign(csr), NOW)
    assert install.plan(request_, NOW).reasons == []
    assert os.stat(request_.private_key).st_mtime_ns == os.stat(request_.certificate).st_mtime_ns
    assert os.stat(request_.private_key).st_mode & 0o777 == 0o600
    assert sorted(os.listdir(os.path.dirname(request_.private_key))) == [
        "ca.pem",
        "chassis-cert.pem",
        "chassis-key.pem",
    ]


def test_planning_writes_nothing(request_: install.Request, tmp_path: pathlib.Path) -> None:
    assert [reason.code for reason in install.plan(request_, NOW).reasons] == ["missing", "ca_added"]
    assert list(tmp_path.iterdir()) == []


def test_a_waiting_key_is_used_again(request_: install.Request) -> None:
    signed = CA.sign(first_call(request_))
    first_call(request_)
    assert install.install(request_, signed, NOW)


@pytest.mark.parametrize("damage", ["content", "mode"])
def test_a_damaged_waiting_key_is_replaced(request_: install.Request, damage: str) -> None:
    signed = CA.sign(first_call(request_))
    waiting = pathlib.Path(files.pending(request_.private_key))
    if damage == "content":
        waiting.write_bytes(waiting.read_bytes()[:60])
    else:
        waiting.chmod(0o644)
    csr = first_call(request_)
    with pytest.raises(Refused, match="another run replaced it"):
        install.install(request_, signed, NOW)
    assert install.install(request_, CA.sign(csr), NOW)


def test_the_slower_of_two_runs_changes_nothing(request_: install.Request) -> None:
    signed = CA.sign(first_call(request_))
    assert install.install(request_, signed, NOW)
    assert not install.install(request_, signed, NOW)


def test_what_was_not_asked_for_is_not_installed(request_: install.Request) -> None:
    csr = first_call(request_)
    with pytest.raises(InvalidInput, match="was not signed by CA"):
        install.install(request_, OTHER.sign(csr), NOW)
    with pytest.raises(InvalidInput, match="common name"):
        install.install(dataclasses.replace(request_, common_name="compute-2"), CA.sign(csr), NOW)
    with pytest.raises(InvalidInput, match="expired"):
        install.install(request_, CA.sign(csr), NOW + 400 * DAY)
    assert not os.path.exists(request_.certificate)


def test_a_cut_between_the_two_renames_is_repaired(request_: install.Request, monkeypatch: pytest.MonkeyPatch) -> None:
    install.install(request_, CA.sign(first_call(request_)), NOW)
    later = NOW + 350 * DAY
    csr = install.apply_first(request_, install.plan(request_, later))
    signed = CA.sign(csr)
    replace = os.replace

    def cut(source: str, target: str) -> None:
        if target == request_.certificate:
            raise OSError(5, "Input/output error")
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", cut)
        with pytest.raises(OvnError, match="the next run repairs the pair"):
            install.install(request_, signed, NOW)
    todo = install.plan(request_, NOW)
    assert [reason.code for reason in todo.reasons] == ["key_mismatch"]
    assert install.install(request_, CA.sign(install.apply_first(request_, todo)), NOW)
    assert install.plan(request_, NOW).reasons == []


def test_an_interruption_before_the_daemons_reload_is_repaired(
    request_: install.Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed = CA.sign(first_call(request_))
    with monkeypatch.context() as patch:
        patch.setattr(files, "touch_together", lambda *_paths: None)
        install.install(request_, signed, NOW)
    os.utime(request_.private_key, (1, 1))
    assert [reason.code for reason in install.plan(request_, NOW).reasons] == ["modification_times"]
    assert first_call(request_) == ""
    assert install.plan(request_, NOW).reasons == []
    assert os.stat(request_.private_key).st_mtime_ns == os.stat(request_.certificate).st_mtime_ns


def test_a_file_where_a_folder_should_be(request_: install.Request, tmp_path: pathlib.Path) -> None:
    (tmp_path / "etc").touch()
    assert [reason.code for reason in install.plan(request_, NOW).reasons] == ["missing", "ca_added"]
    with pytest.raises(OvnError, match="cannot be written"):
        first_call(request_)


def test_a_full_disk_leaves_the_pair_alone(request_: install.Request, monkeypatch: pytest.MonkeyPatch) -> None:
    install.install(request_, CA.sign(first_call(request_)), NOW)
    csr = install.apply_first(request_, install.plan(request_, NOW + 350 * DAY))

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OvnError, match=r"No space left on device\. The installed files are unchanged"):
            install.install(request_, CA.sign(csr), NOW)
    assert install.plan(request_, NOW).reasons == []


def test_a_new_ca_needs_an_overlap(request_: install.Request) -> None:
    install.install(request_, CA.sign(first_call(request_)), NOW)
    with pytest.raises(Refused, match=r"'CA'.*ovn_pki_ca.bundle_extra"):
        install.plan(dataclasses.replace(request_, issuer=OTHER.pem, ca_bundle=OTHER.pem), NOW)
    both = dataclasses.replace(request_, issuer=OTHER.pem, ca_bundle=OTHER.pem + CA.pem)
    assert [reason.code for reason in install.plan(both, NOW).reasons] == ["issuer", "ca_added"]
    trust_only = dataclasses.replace(both, renew_on_issuer_change=False)
    assert first_call(trust_only) == ""
    assert install.plan(trust_only, NOW).reasons == []
    assert install.facts(both, NOW)["issuer_trusted"]
    assert not install.facts(both, NOW)["signed_by_issuer"]
    without = dataclasses.replace(both, ca_bundle=OTHER.pem, remove_authorities=True)
    with pytest.raises(Refused, match="ovn_pki_ca_rotation: switch first"):
        install.plan(without, NOW)
    install.install(both, OTHER.sign(first_call(both)), NOW)
    assert [reason.code for reason in install.plan(without, NOW).reasons] == ["ca_removed"]


def test_a_leaf_as_issuer_is_refused(request_: install.Request) -> None:
    leaf = CA.sign(first_call(request_))
    with pytest.raises(InvalidInput, match="not the certificate of a CA"):
        install.plan(dataclasses.replace(request_, issuer=leaf), NOW)


def test_a_client_is_signed_by_a_ca_that_its_own_host_need_not_trust(request_: install.Request) -> None:
    """A hypervisor trusts the CA of the members alone, which signs nothing for it."""
    chassis = dataclasses.replace(request_, ca_bundle=OTHER.pem, extended_key_usage=frozenset({"clientAuth"}))
    assert install.install(chassis, CA.sign(first_call(chassis)), NOW)
    found = install.facts(chassis, NOW)
    assert (found["signed_by_issuer"], found["issuer_trusted"], found["signed_by_trusted"]) == (True, False, False)
    assert install.plan(chassis, NOW).reasons == []
    with pytest.raises(InvalidInput, match="does not contain the CA that signs"):
        install.plan(dataclasses.replace(chassis, extended_key_usage=request_.extended_key_usage), NOW)


def test_the_bundle_of_clients_follows_the_same_rules(request_: install.Request) -> None:
    path = pathlib.Path(request_.ca_certificate).with_name("relay-ca.pem")
    server = dataclasses.replace(request_, client_ca_certificate=str(path), client_ca_bundle=CA.pem + OTHER.pem)
    install.install(server, CA.sign(first_call(server)), NOW)
    assert path.read_text() == CA.pem + OTHER.pem
    assert pathlib.Path(server.ca_certificate).read_text() == CA.pem
    assert install.plan(server, NOW).reasons == []
    assert install.facts(server, NOW)["signed_by_trusted"]

    fewer = dataclasses.replace(server, client_ca_bundle=CA.pem)
    with pytest.raises(Refused, match=r"relay-ca\.pem trusts 'another CA'"):
        install.plan(fewer, NOW)
    finished = dataclasses.replace(fewer, remove_authorities=True)
    assert [reason.code for reason in install.plan(finished, NOW).reasons] == ["ca_removed"]
    install.apply_first(finished, install.plan(finished, NOW))
    assert path.read_text() == CA.pem
    path.chmod(0o600)
    assert [reason.code for reason in install.plan(finished, NOW).reasons] == ["permissions"]
    # Without a desired bundle the file stays, as for a host that has no relay any more.
    path.write_text("nothing that anybody reads")
    path.chmod(0o644)
    assert install.plan(dataclasses.replace(finished, client_ca_bundle=""), NOW).reasons == []
