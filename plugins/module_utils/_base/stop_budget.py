# SPDX-License-Identifier: GPL-3.0-or-later
"""How long the stop of a database member may take, in seconds. The launcher uses it; the unit of a machine and the pod are limited to it."""

from __future__ import annotations

# The server hands its leadership over and ends; longer than milliseconds only while it converts or writes a snapshot.
HANDOVER_SECONDS = 20
# After that: the server has got a signal and may still be busy.
AFTER_SIGNAL_SECONDS = 35
# Reading the end of the file and recording it, and starting the processes that do this.
RECORD_SECONDS = 5
# systemd and the kubelet kill what still runs after this.
STOP_SECONDS = HANDOVER_SECONDS + AFTER_SIGNAL_SECONDS + RECORD_SECONDS
