# SPDX-License-Identifier: GPL-3.0-or-later
"""A Secret with key, certificate and the CAs to trust, against what it should have. Pure."""

from __future__ import annotations

import base64
import binascii
import datetime
import typing as t

from . import installed

KEYS = ("tls.key", "tls.crt", "ca.crt")


def secret_state(
    data: t.Mapping[str, str],
    place: str,
    issuer: str,
    now: datetime.datetime,
    *,
    declared: installed.Declared | None,
    client_ca_key: str,
) -> dict[str, t.Any]:
    """Return facts about a Secret by the data in it (base64), and with `declared` what it lacks; `Refused` if writing that would cut connections.

    `needed`: it needs a new key and certificate. `reasons` why it has to be written. `ca_bundle_wanted` and `client_ca_bundle_wanted` are the bundles then.
    `missing` are the keys that it lacks; the rest is from `installed.facts`. `place` is for messages, `client_ca_key` the key of the second bundle.
    """
    contents = _contents(data, place, client_ca_key)
    state: dict[str, t.Any] = {
        "needed": False,
        "reasons": [],
        "missing": [key for key in KEYS if not data.get(key)],
        **installed.facts(contents, issuer, now),
    }
    state["ca_bundle_wanted"], state["client_ca_bundle_wanted"] = state["ca_bundle"], state["client_ca_bundle"]
    if declared is None:
        return state
    new_pair, bundle, bundle_reasons = installed.compare(contents, declared, now)
    client_bundle, client_reasons = installed.compare_client_bundle(contents, declared)
    reasons = (*new_pair, *bundle_reasons, *client_reasons)
    state["needed"] = bool(new_pair)
    state["reasons"] = [{"code": one.code, "message": one.message} for one in reasons]
    if bundle is not None:
        state["ca_bundle_wanted"] = bundle.decode()
    if client_bundle is not None:
        state["client_ca_bundle_wanted"] = client_bundle.decode()
    return state


def _contents(data: t.Mapping[str, str], place: str, client_ca_key: str) -> installed.InstalledFiles:
    """Return the Secret as files of a host."""
    return installed.InstalledFiles(
        private_key=_decoded(data, "tls.key"),
        certificate=_decoded(data, "tls.crt"),
        ca_bundle=_decoded(data, "ca.crt"),
        certificate_place=f"tls.crt of {place}",
        ca_bundle_place=f"ca.crt of {place}",
        client_ca_bundle=_decoded(data, client_ca_key),
        client_ca_bundle_place=f"{client_ca_key} of {place}",
    )


def _decoded(data: t.Mapping[str, str], key: str) -> bytes | None:
    if not data.get(key):
        return None
    try:
        return base64.b64decode(data[key], validate=True)
    except (binascii.Error, ValueError):
        return b""  # there, but nothing that can be read
