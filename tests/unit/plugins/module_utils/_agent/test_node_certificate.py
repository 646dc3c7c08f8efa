"""When a node asks for its certificate, and what it does with the answer. The requests themselves: tests/integration/test_node_certificates.py."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.node_certificate import CertificateInUse, NodeCertificate
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import Refused


@pytest.mark.parametrize(
    ("now", "due"), [(0, False), (199, False), (200, True), (300, True)], ids=["new", "before", "two thirds", "its end"]
)
def test_it_is_renewed_at_two_thirds_of_its_life(now: float, due: bool) -> None:
    assert CertificateInUse("a", 0.0, 300.0).is_due(now) is due


@pytest.mark.parametrize("name", ["", "a b", "a/CN=b", "a\nb", "x" * 65])
def test_a_name_that_is_none_for_a_certificate(name: str, tmp_path: t.Any) -> None:
    certificate = NodeCertificate(str(tmp_path), t.cast("t.Any", None))
    with pytest.raises(Refused, match="cannot be that of a certificate"):
        certificate.ensure(name)
    assert list(tmp_path.iterdir()) == []
