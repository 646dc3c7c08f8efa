# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a run of the role ovn_hypervisor can sign for nodes with certificates of their own, before it changes anything. Pure."""

from __future__ import annotations

from .variables import Variables


def signer_problem(signer: Variables, *, given: bool, directory: str, key_problem: str, needed: bool) -> str:
    """Return why nobody can sign, empty if that is possible.

    `signer` has the certificate of the CA and its key, `given` says that they are variables of the user and no files of `directory`. `key_problem` is that
    of the file with the key. `needed`: without a signature the run cannot bring about what is declared.
    """
    if not given and key_problem:
        return key_problem
    if needed and not signer["certificate"]:
        return (
            f"There is no certificate of the CA of the chassis, {directory}/chassis-ca.pem, so nobody can sign for nodes with certificates of their own. "
            "Run c5c3.ovn.central first, which makes it where relays give chassis a role. If certificates come from elsewhere, give "
            "ovn_pki_chassis_ca_certificate and ovn_pki_chassis_ca_private_key, or set ovn_node_certificates to shared."
        )
    if needed and not signer["private_key"]:
        where = "ovn_pki_chassis_ca_private_key" if given else f"{directory}/chassis-ca-key.pem"
        replace = (
            "give another CA in three runs, see the README of the role ovn_pki"
            if given
            else "run c5c3.ovn.rotate with ovn_pki_rotate=chassis, which replaces that CA and the certificates of nodes"
        )
        return (
            f"There is no key of the CA of the chassis ({where}), so nobody can sign for nodes with certificates of their own: the first ones would lose "
            f"ovn-controller. Bring the key back. When it is lost for good, {replace}."
        )
    return ""
