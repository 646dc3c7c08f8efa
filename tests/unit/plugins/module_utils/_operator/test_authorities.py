"""A Secret with a CA of the operator: what is usable, and what is refused."""

from __future__ import annotations

import base64
import datetime
import re
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.authorities import pair_of
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.issuing import issue, new_authority
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.signing import SigningAuthority

NOW = datetime.datetime(2026, 11, 27, 7, 0, tzinfo=datetime.timezone.utc)
CERTIFICATE, KEY = new_authority("OVN CA", NOW, 10)
OTHER_KEY = new_authority("OVN CA", NOW, 10)[1]
LEAF, LEAF_KEY = issue(
    SigningAuthority(CERTIFICATE, KEY, "", 1), "ovn", NOW, subject_alt_names=(), extended_key_usage=["serverAuth"]
)
UNUSABLE = "they are no certificate of a CA with its key"


def secret(**texts: str | bytes) -> dict[str, t.Any]:
    data = {
        key.replace("_", "."): base64.b64encode(text.encode() if isinstance(text, str) else text).decode()
        for key, text in texts.items()
    }
    return {"metadata": {"name": "ovn-ca", "namespace": "net"}, "data": data}


def test_what_the_operator_has_made_is_usable() -> None:
    assert pair_of(secret(tls_crt=CERTIFICATE, tls_key=KEY)) == (CERTIFICATE, KEY)


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        (secret(), "it lacks tls.crt"),
        ({"metadata": {"name": "ovn-ca", "namespace": "net"}}, "it lacks tls.crt"),
        (secret(tls_crt=CERTIFICATE), "it lacks tls.key"),
        (secret(tls_crt=CERTIFICATE, tls_key=OTHER_KEY), UNUSABLE),
        (secret(tls_crt=LEAF, tls_key=LEAF_KEY), UNUSABLE),
        (secret(tls_crt="", tls_key=""), UNUSABLE),
        (secret(tls_crt="nothing", tls_key=KEY), UNUSABLE),
        (secret(tls_crt=CERTIFICATE, tls_key="nothing"), UNUSABLE),
        (secret(tls_crt=b"\xff", tls_key=KEY), UNUSABLE),
    ],
)
def test_ca_that_cannot_sign_is_refused(given: dict[str, t.Any], cause: str) -> None:
    told = f"Secret net/ovn-ca has no usable tls.crt and tls.key of a CA: {cause}. Restore it from a backup."
    with pytest.raises(Refused, match=re.escape(told)) as error:
        pair_of(given)
    assert "signer." not in str(error.value), "an option of a module that nobody here has set"
    assert "PRIVATE" not in str(error.value)
