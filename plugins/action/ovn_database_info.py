# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module ovn_database_info with a kubeconfig that may be in a vault."""

from __future__ import annotations

from ..plugin_utils._kubeconfig import KubeconfigAction


class ActionModule(KubeconfigAction):
    pass
