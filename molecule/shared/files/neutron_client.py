"""A client of both databases as Neutron is one: the library of Neutron (ovsdbapp), with the settings that the services of Neutron read by themselves.

neutron_client.py write SETTINGS FOLDER   adds an address set to the Northbound every 100 ms until it is ended, with the options in the files SETTINGS/*.conf.
                                          FOLDER/account gets a line of JSON when it starts (pid, northbound), and one for each row: its name,
                                          `acknowledged` (seconds of a clock that never goes back; null if the write failed), and the chassis of the Southbound
neutron_client.py report FOLDER [ROWS]    prints as JSON what happened after so many rows: rows, failed (names), gap (the longest time between two acknowledged
                                          rows in seconds); and of the whole life: chassis and northbound at the end, starts, written (rows since the last one),
                                          refused (attempts to connect that found nobody, in what the library wrote to FOLDER/log)
"""

from __future__ import annotations

import configparser
import itertools
import json
import logging
import os
import sys
import time
import typing as t
from pathlib import Path

from ovs.stream import Stream
from ovsdbapp.backend.ovs_idl import connection, vlog
from ovsdbapp.schema.ovn_northbound.impl_idl import OvnNbApiIdlImpl

PAUSE = 0.1


def read_options(folder: Path) -> dict[str, str]:
    """Return the section [ovn] as oslo.config has it of a directory: files in the order of their names, `$$` is a dollar."""
    parser = configparser.RawConfigParser()
    parser.read(sorted(folder.glob("*.conf")))
    return {name: value.replace("$$", "$") for name, value in parser.items("ovn")}


def connect(options: dict[str, str], database: str, table: str, *, leader_only: bool) -> t.Any:
    """Return a connection that holds one table. Probes and the longest pause between two attempts are those that Neutron sets."""
    short = {"OVN_Northbound": "nb", "OVN_Southbound": "sb"}[database]
    Stream.ssl_set_private_key_file(options[f"ovn_{short}_private_key"])
    Stream.ssl_set_certificate_file(options[f"ovn_{short}_certificate"])
    Stream.ssl_set_ca_cert_file(options[f"ovn_{short}_ca_cert"])
    idl = connection.OvsdbIdl.from_server(
        options[f"ovn_{short}_connection"], database, helper_tables=[table], leader_only=leader_only, probe_interval=0
    )
    idl._session.reconnect.set_backoff(1000, int(options["ovsdb_retry_max_interval"]) * 1000)
    return connection.Connection(idl, timeout=int(options["ovsdb_connection_timeout"]))


def write(settings: Path, folder: Path) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    vlog.use_python_logger()
    options = read_options(settings)
    with (folder / "account").open("a", buffering=1) as account:

        def note(**fields: t.Any) -> None:
            account.write(json.dumps(fields) + "\n")

        note(pid=os.getpid(), northbound=options["ovn_nb_connection"])
        southbound = connect(options, "OVN_Southbound", "Chassis", leader_only=False)
        southbound.start()
        api = OvnNbApiIdlImpl(connect(options, "OVN_Northbound", "Address_Set", leader_only=True))
        for number in itertools.count(1):
            row, acknowledged = f"neutron_{os.getpid()}_{number}", None
            try:
                api.address_set_add(row, may_exist=True).execute(check_error=True)
                acknowledged = time.monotonic()
            except Exception:
                logging.exception("%s was not written", row)
            chassis = sorted(found.name for found in southbound.idl.tables["Chassis"].rows.values())
            note(row=row, acknowledged=acknowledged, chassis=chassis)
            time.sleep(PAUSE)  # between two writes, as a client makes them


def report(folder: Path, after: int) -> dict[str, t.Any]:
    account = folder / "account"
    lines = [json.loads(line) for line in account.read_text().splitlines()] if account.exists() else []
    starts = [index for index, line in enumerate(lines) if "pid" in line]
    rows = [line for line in lines if "row" in line]
    times = [line["acknowledged"] for line in rows[max(after - 1, 0) :] if line["acknowledged"]]
    return {
        "rows": [line["row"] for line in rows[after:] if line["acknowledged"]],
        "failed": [line["row"] for line in rows[after:] if not line["acknowledged"]],
        "gap": round(max((later - sooner for sooner, later in zip(times, times[1:])), default=0.0), 2),
        "chassis": rows[-1]["chassis"] if rows else [],
        "northbound": lines[starts[-1]]["northbound"] if starts else "",
        "starts": len(starts),
        "written": sum(bool(line.get("acknowledged")) for line in lines[starts[-1] :]) if starts else 0,
        "refused": (folder / "log").read_text().count("Connection refused"),
    }


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        print(json.dumps(report(Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)))
