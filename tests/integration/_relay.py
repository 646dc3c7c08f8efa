"""A relay of the Southbound database on loopback, started as its unit does."""

from __future__ import annotations

import json
import pathlib
import typing as t

from _pki import Pki, TlsPaths
from conftest import Daemon, run

from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.relay_command import (
    SCHEMA,
    RelaySettings,
    listeners_transaction,
    relay_command,
    relay_control_socket,
    relay_database_socket,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles


class Relay:
    """Chassis connect to `target`; `sources` are the ports of the members without a role."""

    def __init__(
        self,
        directory: pathlib.Path,
        sources: t.Sequence[str],
        target: str,
        tls: TlsPaths,
        authorities: t.Sequence[Pki],
    ) -> None:
        directory.mkdir()
        bundle = directory / "relay-ca.pem"
        bundle.write_text("".join(pathlib.Path(authority.ca_certificate).read_text() for authority in authorities))
        self.directory = directory
        self.settings = RelaySettings(
            run_directory=str(directory),
            listeners_file=str(directory / "listeners.db"),
            sources=sources,
            target=target,
            inactivity_probe=60000,
            tls=TlsFiles(tls.private_key, tls.certificate, str(bundle)),
            log_file=str(directory / "relay.log"),
        )
        self.daemon: Daemon | None = None

    @property
    def socket(self) -> str:
        return relay_database_socket(self.settings.run_directory)

    @property
    def control_socket(self) -> str:
        return relay_control_socket(self.settings.run_directory)

    def start(self) -> None:
        self.launch()
        run("ovsdb-client", "-t", "30", "wait", f"unix:{self.socket}", "OVN_Southbound", "connected", timeout=40)

    def launch(self) -> None:
        """Start the process, which may find no member."""
        schema = self.directory / "listeners.ovsschema"
        schema.write_text(json.dumps(SCHEMA))
        file = pathlib.Path(self.settings.listeners_file)
        file.unlink(missing_ok=True)
        run("ovsdb-tool", "create", str(file), str(schema))
        run("ovsdb-tool", "transact", str(file), listeners_transaction(self.settings))
        self.daemon = Daemon(relay_command(self.settings), self.directory / "relay.out")

    def kill(self) -> None:
        if self.daemon is not None:
            self.daemon.kill()
