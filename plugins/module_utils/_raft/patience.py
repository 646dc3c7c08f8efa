# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

For how many seconds after its start nothing is wrong with a server that does not do yet what it should, on machines and in pods.
"""

from __future__ import annotations

# Reading a large database takes minutes, and after a restart it begins from the start. A server that does not answer for longer than this hangs.
LOADING_SECONDS = 600.0
# After its start a server connects to the others with a growing pause, and then there may be an election.
FINDS_OTHERS_SECONDS = 30.0
# In pods a cluster's DNS keeps "no such name" for up to 30 s, and so does the server's own resolver.
FINDS_OTHERS_IN_PODS_SECONDS = FINDS_OTHERS_SECONDS + 60.0
