# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of the agent for metadata in a container, whichever program it is, and which options are therefore none that users add. Pure."""

from __future__ import annotations

import re
import typing as t

from .ini import DEFAULT, Sections, has_option, merge_sections, normalized, plain_value

# What the agent for metadata has to know, `neutron-ovn-metadata-agent` (neutron/conf/agent/ovn/metadata/config.py, neutron/conf/agent/metadata/config.py) or
# `neutron-ovn-agent` with an extension (neutron/conf/agent/ovn/ovn_neutron_agent/config.py). Pure.

METADATA_AGENT, OVN_AGENT = "neutron-ovn-metadata-agent", "neutron-ovn-agent"
PROGRAMS = (METADATA_AGENT, OVN_AGENT)
METADATA_EXTENSION = "metadata"
_SECTION, _EXTENSIONS = "agent", "extensions"
# What oslo.config would read as something else is none of it: a space at an end, a quotation mark around it.
_SECRET = re.compile(r"""[^\s"'\\]+""", re.ASCII)


def metadata_agent_settings(
    *,
    southbound: t.Sequence[str],
    open_vswitch: str,
    nova_host: str,
    nova_port: int | None = None,
    nova_protocol: str | None = None,
    shared_secret: str = "",
    private_key: str = "",
    certificate: str = "",
    ca_certificate: str = "",
    workers: int | None = None,
) -> dict[str, dict[str, t.Any]]:
    """Return the sections of its file, which are those of both programs.

    `southbound` are endpoints where the agent has the role of its chassis, `open_vswitch` the endpoint of the local database (`unix:FILE`). Without
    `shared_secret` (it may come from another file) the option is left out, and where `nova_port`, `nova_protocol` or `workers` is None the agent's default
    counts.
    """
    given = {
        "nova_metadata_host": nova_host,
        "nova_metadata_port": nova_port,
        "nova_metadata_protocol": nova_protocol,
        "metadata_proxy_shared_secret": shared_secret or None,
        "metadata_workers": workers,
    }
    default = {name: value for name, value in given.items() if value is not None}
    ovn: dict[str, t.Any] = {"ovn_sb_connection": list(southbound)}
    if private_key:
        ovn |= {
            "ovn_sb_private_key": private_key,
            "ovn_sb_certificate": certificate,
            "ovn_sb_ca_cert": ca_certificate,
        }
    return {"DEFAULT": default, "ovs": {"ovsdb_connection": open_vswitch}, "ovn": ovn}


def extension_settings(program: str) -> dict[str, dict[str, t.Any]]:
    """Return the section that makes the program answer for metadata; the one may have more extensions, which users add, and the other knows none."""
    return {_SECTION: {_EXTENSIONS: [METADATA_EXTENSION]}} if program == OVN_AGENT else {}


def extensions_problem(program: str, extra: Sections) -> str:
    """Return why the program would not answer for metadata with these sections of users, as the rest of a sentence; empty if it would.

    `InvalidInput` if the option has a value that no file has.
    """
    options = normalized(extra).get(_SECTION, {})
    if program != OVN_AGENT or _EXTENSIONS not in options:
        return ""
    names = [name.strip() for name in plain_value(_SECTION, _EXTENSIONS, options[_EXTENSIONS]).split(",")]
    given = list(filter(None, names))
    if METADATA_EXTENSION in given:
        return ""
    return f"sets {_EXTENSIONS} in [{_SECTION}] to {', '.join(given) or 'nothing'}: {OVN_AGENT} would not answer for metadata. Add {METADATA_EXTENSION}."


def shared_secret_problem(secret: str, place: str = "") -> str:
    """Return what is wrong with the secret of Nova and the agent, as the rest of a sentence; empty if it is good. It never has the secret itself.

    `place` says where in its object it is.
    """
    if _SECRET.fullmatch(secret):
        return ""
    return f"has a space, a quotation mark, a backslash or several lines{place}, which configuration files do not keep as they are."


SECRET_OPTION = "metadata_proxy_shared_secret"
_SOCKET_OPTION = "metadata_proxy_socket"  # in state_path, where probes look for it
# Not sudo, the default, which images may lack: the container is root's. An empty text would leave it at sudo (oslo_privsep/priv_context.py:init).
_ROOT_HELPER = "env"


class NovaMetadataAddress(t.NamedTuple):
    """Where Nova answers for the metadata of its instances."""

    host: str
    port: int
    protocol: str


def container_settings(
    southbound: t.Sequence[str],
    tls: t.Sequence[str | None],
    nova: NovaMetadataAddress,
    *,
    program: str,
    open_vswitch: str,
    state_path: str,
    workers: int | None,
) -> dict[str, dict[str, t.Any]]:
    """Return the sections without the shared secret. `tls` are the files of private key, certificate and CAs, all None without TLS."""
    private_key, certificate, ca_certificate = (path or "" for path in tls)
    ours = metadata_agent_settings(
        southbound=southbound,
        open_vswitch=open_vswitch,
        nova_host=nova.host,
        nova_port=nova.port,
        nova_protocol=nova.protocol,
        private_key=private_key,
        certificate=certificate,
        ca_certificate=ca_certificate,
        workers=workers,
    )
    of_container = {
        DEFAULT: {"state_path": state_path},
        "agent": {"root_helper": _ROOT_HELPER},
        "oslo_concurrency": {"lock_path": f"{state_path}/lock"},
    }
    return merge_sections(ours, of_container, extension_settings(program))


def is_ours(section: str, option: str) -> bool:
    """Return whether the agent has this option from `container_settings`, or from the Secret. Extensions are none: users may add some."""
    nova = NovaMetadataAddress("", 0, "")
    ours = container_settings(
        [], ("x", "x", "x"), nova, program=METADATA_AGENT, open_vswitch="", state_path="", workers=0
    )
    ours[DEFAULT].update({SECRET_OPTION: "", _SOCKET_OPTION: ""})
    return has_option(ours, section, option)
