# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of the agent for metadata in a container, whichever program it is, and which options are therefore none that users add. Pure."""

from __future__ import annotations

import typing as t

from .ini import DEFAULT, has_option, merge_sections
from .metadata_agent import METADATA_AGENT, extension_settings, metadata_agent_settings

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
