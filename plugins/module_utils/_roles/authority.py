# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether it is safe that a CA signs or retires: what its files and the answers of the hosts mean together. Pure."""

from __future__ import annotations

import dataclasses
import os
import typing as t

from .._api.names import CA_KEY
from .._host.ca_directory import KeyModes
from .._pki.issuing import AuthorityName
from .._pki.signing import AuthorityPlaces
from .variables import Variables, is_true


def _answers(
    results: t.Iterable[Variables], secrets: t.Mapping[str, Variables], examined: t.Mapping[str, Variables]
) -> t.Iterator[tuple[str, Variables]]:
    """Yield host and facts of everybody who has answered; a host that was asked for several pairs comes several times."""
    yield from examined.items()
    for result in results:
        item = result["item"]
        yield (item if isinstance(item, str) else item[0]), result
    yield from secrets.items()


def trust(
    results: t.Iterable[Variables],
    secrets: t.Mapping[str, Variables],
    examined: t.Mapping[str, Variables],
    central: t.Collection[str],
) -> dict[str, list[str]]:
    """Return what hosts trust and use, from the facts of `ovn_certificate` and of the filter `certificate_state`.

    `results` come from a loop over hosts, or over pairs of a host and a certificate; `secrets` and `examined` go from host to facts. Hosts that were left
    out have none. In the result, `trusting` are the hosts that trust a CA, `distrusting` those of them that do not trust the issuer, `rejecting` those that
    let in nobody with a certificate of the issuer, `former` those that use a certificate of another CA than the issuer. `bundles` are the texts of what
    `central` hosts trust, `client_bundles` of whom they let in where chassis connect: whoever owns a hypervisor could add a CA to its file, and all others
    would trust it.
    """
    answers = [(host, facts) for host, facts in _answers(results, secrets, examined) if "ca_installed" in facts]
    with_ca = [(host, facts) for host, facts in answers if facts["ca_installed"]]
    return {
        "trusting": _distinct(host for host, facts in with_ca),
        # A machine without any CA has no connection to lose and gets the whole bundle with its first certificate.
        "distrusting": _distinct(host for host, facts in with_ca if not facts["issuer_trusted"]),
        "rejecting": _distinct(host for host, facts in with_ca if not facts.get("issuer_accepted")),
        "former": _distinct(host for host, facts in answers if facts["in_service"] and not facts["signed_by_issuer"]),
        "bundles": _distinct(facts["ca_bundle"] for host, facts in answers if facts["ca_bundle"] and host in central),
        "client_bundles": _distinct(
            facts["client_ca_bundle"] for host, facts in answers if facts.get("client_ca_bundle") and host in central
        ),
    }


def _distinct(values: t.Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


@dataclasses.dataclass(frozen=True)
class SigningOptions:
    """The options of the role that count when the control node creates a CA or signs."""

    ca_directory: str
    ca_directory_is_kept: bool
    validity_days: int
    renew_before_days: int
    ca: dict[str, t.Any] = dataclasses.field(repr=False)
    chassis_ca: dict[str, t.Any] = dataclasses.field(repr=False)

    @property
    def ca_validity_days(self) -> int:
        return int(self.ca.get("validity_days") or 3650)

    def given_key(self, authority: AuthorityName) -> str:
        return str((self.ca if authority == "central" else self.chassis_ca).get("private_key") or "")

    def passphrase(self, authority: AuthorityName) -> str:
        own = {} if authority == "central" else self.chassis_ca
        return str(own.get("private_key_passphrase") or self.ca.get("private_key_passphrase") or "")


def authority_places(authority: AuthorityName, given: bool, ca_directory: str) -> AuthorityPlaces:
    """Return what messages call certificate and key of a CA."""
    stem = "ca" if authority == "central" else "chassis-ca"
    if given:
        option = f"ovn_pki_{stem.replace('-', '_')}"
        return AuthorityPlaces(f"{option}.certificate", f"{option}.private_key")
    return AuthorityPlaces(os.path.join(ca_directory, f"{stem}.pem"), os.path.join(ca_directory, f"{stem}-key.pem"))


def signing_problem(
    host: str,
    request: t.Sequence[str],
    options: SigningOptions,
    *,
    has_key: bool,
    given: bool,
    authority: AuthorityName = "central",
) -> str:
    """Return why the request of `host` is not signed, empty if it may be.

    `request` is what it asks for beyond its declaration, one sentence for each difference.
    """
    ca_directory, renew_before, validity = options.ca_directory, options.renew_before_days, options.validity_days
    name = "ca" if authority == "central" else "chassis-ca"
    option = f"ovn_pki_{name.replace('-', '_')}"
    if not has_key and given:
        return f"{option}.certificate is given without its key. Give {option}.private_key, too."
    if not has_key and authority == "chassis":
        return (
            f"{ca_directory} on the control node has {name}.pem, but not {name}-key.pem, so nothing can be signed for chassis. Restore the key. When it is "
            "lost for good, run c5c3.ovn.rotate with ovn_pki_rotate=chassis, which replaces that CA."
        )
    if not has_key:
        return (
            f"{ca_directory} on the control node has ca.pem, but not ca-key.pem, so nothing can be signed. Restore the key. When it is lost for good, "
            "rename ca.pem to previous-ca.pem there and declare a new CA with ovn_pki_ca_rotation=lost_key."
        )
    if renew_before >= validity:
        return (
            f"With ovn_pki_renew_before_days ({renew_before}) not below ovn_pki_validity_days ({validity}) every run would make new certificates. "
            "Lower the first or raise the second."
        )
    if request:
        return f"The request of {host} is not signed: {'; '.join(request)}. Something on this host changed the request; look at the host before you run again."
    return ""


def ca_directory_problem(
    signs: t.Mapping[str, t.Any], directory: str, kept: t.Any = False, clients: bool = False
) -> str:
    """Return why no CA, or no keys of `clients`, are created in this directory of the control node, empty if they may be.

    `signs` tell by their names that the control node is a container, which usually does not outlive the run. `kept`: the operator says that the directory does.
    """
    found = [name for name in signs if str(signs[name] or "").lower() not in ("", "0", "false")]
    if not found or is_true({"ovn_pki_ca_directory_is_kept": kept}, "ovn_pki_ca_directory_is_kept"):
        return ""
    if clients:
        return (
            f"The control node is a container ({', '.join(found)}), and the keys of ovn_pki_clients would be created in it, in {directory}. When the "
            "container ends, they are lost, and each run would issue others. Nothing was created. Mount a directory that outlives the container, set "
            "ovn_pki_ca_directory to it and ovn_pki_ca_directory_is_kept to true; or issue the certificates of clients elsewhere."
        )
    return (
        f"The control node is a container ({', '.join(found)}), and the CA would be created in it, in {directory}. When the container ends, the key of "
        "the CA is lost, and no later run can issue or renew a certificate. Nothing was created. Mount a directory that outlives the container, set "
        "ovn_pki_ca_directory to it and ovn_pki_ca_directory_is_kept to true; or give the CA as ovn_pki_ca.certificate and ovn_pki_ca.private_key."
    )


def key_problem(key: str, modes: KeyModes | None) -> str:
    """Return why the key of a CA is not used, empty if it may be: another user of the control node can read it, or replace it.

    An encrypted key may be read by others, as in a checked-out repository, but not replaced. Without modes there is no key, which whoever needs it says.
    """
    if modes is None:
        return ""
    encrypted = modes.encrypted
    forbidden = 0o022 if encrypted else 0o077
    directory = os.path.dirname(key)
    wrong = [
        (path, mode, command)
        for path, mode, command in (
            (directory, modes.directory, f"chmod go-w {directory}" if encrypted else f"chmod 0700 {directory}"),
            (key, modes.key, f"chmod go-w {key}" if encrypted else f"chmod 0600 {key}"),
        )
        if mode & forbidden
    ]
    if not wrong:
        return ""
    found = " and ".join(f"{path} has the mode {mode:04o}" for path, mode, _command in wrong)
    danger = "replace" if encrypted else "read or replace"
    return (
        f"The key of the CA is not used: other users of the control node can {danger} it, because {found}. Run: "
        f"{' && '.join(command for _path, _mode, command in wrong)}. Replace the CA (playbook c5c3.ovn.rotate) if somebody else may have used its key."
    )


def namespace_problem(host: str, desired: Variables, rivals: t.Sequence[str]) -> str:
    """Return why `host` cannot have its namespace, empty if it can: two hypervisor clusters would write the same objects, and never come to an end."""
    if desired["certificate"] != "chassis" or not rivals:
        return ""
    return (
        f"{host} and {', '.join(rivals)} are namespace {desired['secret']['namespace']} of the same cluster (ovn_kubeconfig). Leave one of them in "
        "ovn_hypervisors, or give them different ones. Nothing was changed."
    )


def ca_config_map_problem(host: str, config_map: str) -> str:
    """Return why the Secret of `host` is not made: pods trust the CAs elsewhere, and a rotation would cut connections."""
    if not config_map:
        return ""
    return (
        f"{host} has tls.caConfigMapRef ({config_map}), and its certificate would be of this role, which does not know what is in that ConfigMap. "
        "Leave caConfigMapRef out, or name the Secret of another owner in tls.certSecretRef. Nothing was changed."
    )


def given_secret_problem(
    place: str, exists: bool, state: Variables, central_twin: str = "", ca_config_map: str = ""
) -> str:
    """Return why pods cannot work with a Secret that another owner manages, empty if they can.

    `place` names the Secret, `state` is what `certificate_state` says of it, `central_twin` the central host that makes it, if one does. With the name of a
    ConfigMap with the CAs, ca.crt is not used.
    """
    needed = [key for key in ("tls.crt", "tls.key", CA_KEY) if key != CA_KEY or not ca_config_map]
    missing = [key for key in state["missing"] if key in needed]
    if not exists and central_twin:
        found = f"There is no {place}. It is also that of {central_twin} in ovn_central, which makes it: run c5c3.ovn.central first."
    elif not exists:
        found = f"There is no {place}. It was declared as given, so its owner has to create it first."
    elif missing:
        found = f"{place} lacks {', '.join(missing)}. It has to have {', '.join(needed[:-1])} and {needed[-1]}, as cert-manager writes them."
    elif not state["in_service"]:
        found = (
            f"The certificate in {place} is not valid now, or does not belong to its key (its end: {state['not_after'] or 'unknown'}). "
            "Look at the issuer that renews it."
        )
    else:
        return ""
    return f"{found} Nothing was changed."
