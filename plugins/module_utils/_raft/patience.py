# SPDX-License-Identifier: GPL-3.0-or-later
"""For how many seconds after its start nothing is wrong with a server that does not do yet what it should, on machines and in pods."""

from __future__ import annotations

# Reading a large database takes minutes, and after a restart it begins from the start. A server that does not answer for longer than this hangs.
LOADING_SECONDS = 600.0
# After its start a server connects to the others with a growing pause, and then there may be an election.
FINDS_OTHERS_SECONDS = 30.0
# In pods a cluster's DNS keeps "no such name" for up to 30 s, and so does the server's own resolver.
FINDS_OTHERS_IN_PODS_SECONDS = FINDS_OTHERS_SECONDS + 60.0
