# SPDX-License-Identifier: GPL-3.0-or-later
"""The private key, the certificate and the CA bundle of this host, in the form of `ovn_certificate`. What to do is decided in `_pki`."""

from __future__ import annotations

import contextlib
import datetime
import os
import typing as t

from ansible.module_utils.basic import missing_required_lib

from .._base.errors import InvalidInput, OvnError
from .._pki import certificates, files, install, names
from .._pki.decision import RENEW_BEFORE_DAYS
from .._pki.files import Ownership, activate, read, write_pending
from .._pki.issued import IssuedCertificate, IssuedChange, is_time, merge_list, parse_list, render_list
from .file_lock import acquire

# The list of issued certificates of a central host, which its observer reads. Several runs may write it at once.

_MODE, _OWNER = 0o644, Ownership(None, None)  # no secrets


def read_change(params: t.Mapping[str, t.Any], *, check_mode: bool) -> IssuedChange:
    """Return what the options of `ovn_issued_certificates` say; `InvalidInput` if a time is none."""
    certificates = [
        (IssuedCertificate(**{field: one[field] for field in IssuedCertificate._fields}), one["issued"])
        for one in params["certificates"]
    ]
    for one, is_issued in certificates:
        if not is_time(one.not_after) and not (check_mode and is_issued and one.not_after == ""):
            raise InvalidInput(
                f'not_after of {one.kind} {one.holder} is "{one.not_after}". Give a time like 2027-11-21T16:00:00Z.'
            )
    return IssuedChange(
        [one for one, is_issued in certificates if not is_issued],
        [one for one, is_issued in certificates if is_issued],
        params["removed_chassis"],
        params["clients"],
        params["removed_metadata_agents"],
    )


def update_file(
    path: str, change: IssuedChange, *, check_mode: bool
) -> tuple[list[IssuedCertificate], list[IssuedCertificate]]:
    """Bring the change into the file and return the list before and after it. An unusable file counts as empty. `OvnError` if it cannot be written."""
    # Nothing is created for a comparison.
    before, after = _merged(path, change)
    if before != after and not check_mode:
        with _locked(path):
            before, after = _merged(path, change)
            if before != after:
                write_pending(path, render_list(after).encode(), _MODE, _OWNER)
                activate(path)
    return before, after


def _merged(path: str, change: IssuedChange) -> tuple[list[IssuedCertificate], list[IssuedCertificate]]:
    before = parse_list((read(path) or b"").decode(errors="replace")) or []
    return before, merge_list(before, change)


@contextlib.contextmanager
def _locked(path: str) -> t.Iterator[None]:
    """Keep other runs from the file. The list itself is replaced, so a lock on it would lock nobody out."""
    with _open_lock(f"{path}.lock") as lock:
        acquire(lock.fileno(), lock.name)
        yield


def _open_lock(path: str) -> t.TextIO:
    try:
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        return open(path, "a", encoding="utf-8")
    except OSError as e:
        raise OvnError(
            f"{path} cannot be opened: {e.strerror}. Check free space and permissions (become: true), then run again."
        ) from e


OPTIONS: dict[str, dict[str, t.Any]] = {
    "state": {"type": "str", "choices": ["present", "examined"], "default": "present"},
    # A path, not a secret.
    "private_key": {"type": "path", "required": True, "no_log": False},
    "certificate": {"type": "path", "required": True},
    "ca_certificate": {"type": "path", "required": True},
    "common_name": {"type": "str"},
    "subject_alt_names": {"type": "list", "elements": "str", "default": []},
    "issuer": {"type": "str", "default": ""},
    "ca_bundle": {"type": "str", "default": ""},
    "remove_authorities": {"type": "bool", "default": False},
    "renew_before": {"type": "int", "default": RENEW_BEFORE_DAYS},
    "renew_on_issuer_change": {"type": "bool", "default": True},
    "extended_key_usage": {
        "type": "list",
        "elements": "str",
        "choices": ["serverAuth", "clientAuth"],
        "default": ["serverAuth", "clientAuth"],
    },
    "client_ca_certificate": {"type": "path"},
    "client_ca_bundle": {"type": "str", "default": ""},
    "renew": {"type": "bool", "default": False},
    "signed": {"type": "str"},
    "owner": {"type": "str"},
    "group": {"type": "str"},
}
_FILES = ("private_key", "certificate", "ca_certificate")
# A new CA has to reach every host before the old one ends; half a year leaves time for that.
_CA_WARNING_DAYS = 180


def apply_certificate(params: t.Mapping[str, t.Any], *, check_mode: bool) -> dict[str, t.Any]:
    """Return the result of `ovn_certificate`; outside check mode, create a request or install the signed certificate.

    `OvnError` says what cannot be read or installed, with `library_missing` if this host lacks cryptography.
    """
    if params["state"] == "present" and params["common_name"] is None:
        raise InvalidInput("The certificate has no common name. Give one as common_name.")
    if params["client_ca_bundle"].strip() and not params["client_ca_certificate"]:
        raise InvalidInput("client_ca_bundle has no file. Give its path as client_ca_certificate.")
    if certificates.CRYPTOGRAPHY_PROBLEM is not None:
        # Without files nothing has to be parsed: the role examines machines before it installs the library there.
        if params["state"] == "present" or any(map(os.path.lexists, (params[option] for option in _FILES))):
            raise OvnError(
                missing_required_lib("cryptography >= 3.3"),
                exception=certificates.CRYPTOGRAPHY_PROBLEM,
                library_missing=True,
            )
        params = {**params, "issuer": ""}
    return _apply(params, datetime.datetime.now(datetime.timezone.utc), check_mode)


def authority_warning(result: t.Mapping[str, t.Any]) -> str:
    """Return what to tell about the end of the CA; empty if that is far away or unknown."""
    days = result.get("ca_days_left")
    if days is None or days >= _CA_WARNING_DAYS:
        return ""
    return f"The CA ends in {days} days. Replace it with c5c3.ovn.rotate."


def _apply(params: t.Mapping[str, t.Any], now: datetime.datetime, check_mode: bool) -> dict[str, t.Any]:
    """`now` is in UTC."""
    request = _request(params)
    before = install.facts(request, now)
    result: dict[str, t.Any] = {
        "changed": False,
        "needed": False,
        "reasons": [],
        "csr": "",
        "subject_alt_names": list(request.subject_alt_names),
        **before,
    }
    if params["state"] == "examined":
        return result
    todo = install.plan(request, now)
    result["reasons"] = [{"code": reason.code, "message": reason.message} for reason in todo.reasons]
    if params["signed"]:
        # The first call has shown the reasons; the diff does not repeat them.
        result["changed"] = check_mode or install.install(request, params["signed"], now)
        after = install.facts(request, now)
        result.update({key: after[key] for key in ("issuer_name", "serial_number", "not_after", "days_left")})
        return result
    result["diff"] = {
        "before": "".join(f"{reason.message}\n" for reason in todo.reasons),
        "after": "",
        "before_header": f"{request.certificate} (what does not fit)",
        "after_header": f"{request.certificate} (what does not fit)",
    }
    result["changed"] = bool(todo.reasons)
    result["needed"] = bool(todo.new_pair)
    if not check_mode:
        result["csr"] = install.apply_first(request, todo)
    return result


def _request(params: t.Mapping[str, t.Any]) -> install.Request:
    return install.Request(
        private_key=params["private_key"],
        certificate=params["certificate"],
        ca_certificate=params["ca_certificate"],
        common_name=params["common_name"] or "",
        subject_alt_names=names.subject_alt_names(params["subject_alt_names"]),
        issuer=params["issuer"],
        ca_bundle=params["ca_bundle"],
        renew_before_days=params["renew_before"],
        renew_on_issuer_change=params["renew_on_issuer_change"],
        remove_authorities=params["remove_authorities"],
        owned_by=files.ownership(params["owner"], params["group"]),
        extended_key_usage=frozenset(params["extended_key_usage"]),
        renew=params["renew"],
        client_ca_certificate=params["client_ca_certificate"] or "",
        client_ca_bundle=params["client_ca_bundle"],
    )
