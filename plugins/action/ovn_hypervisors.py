# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module ovn_hypervisors, and print every ten seconds what it is doing."""

from __future__ import annotations

from ..plugin_utils._progress import ProgressAction


class ActionModule(ProgressAction):
    pass
