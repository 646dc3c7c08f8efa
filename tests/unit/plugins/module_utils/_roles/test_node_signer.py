"""Whether a run can sign for nodes."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.node_signer import signer_problem

MODE = "The key of the CA is not used: mode"


@pytest.mark.parametrize(
    ("certificate", "key", "given", "mode", "needed", "words"),
    [
        pytest.param("c", "k", False, "", True, "", id="files"),
        pytest.param("c", "k", True, MODE, True, "", id="variables: the mode of a file that is not used"),
        pytest.param("c", "k", False, MODE, True, MODE, id="a file that others can read"),
        pytest.param("c", "k", False, MODE, False, MODE, id="the same at a removal, which signs, too"),
        pytest.param("", "", False, "", True, "/srv/chassis-ca.pem, so nobody", id="no CA"),
        pytest.param(
            "c",
            "",
            False,
            "",
            True,
            "lost for good, run c5c3.ovn.rotate with ovn_pki_rotate=chassis",
            id="a key that is kept elsewhere",
        ),
        pytest.param("c", "", True, "", True, "lost for good, give another CA in three runs", id="no variable"),
        pytest.param("", "", False, "", False, "", id="a removal or check mode without a CA"),
        pytest.param("c", "", True, "", False, "", id="a removal or check mode without a key"),
    ],
)
def test_who_can_sign(certificate: str, key: str, given: bool, mode: str, needed: bool, words: str) -> None:
    signer = {"certificate": certificate, "private_key": key}
    found = signer_problem(signer, given=given, directory="/srv", key_problem=mode, needed=needed)
    assert words in found
    assert bool(found) is bool(words)
