# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The options tls_ciphers of the roles. Pure.
"""

from __future__ import annotations

from .._errors import InvalidInput
from .._tls_options import DEFAULT_CIPHERS, ciphers_problem


def check_ciphers(option: str, ciphers: str) -> None:
    """Raise `InvalidInput` if the value of this option is no list of ciphers. `ovn_cluster` checks that of an OVNCluster."""
    problem = ciphers_problem(option, ciphers)
    if problem:
        raise InvalidInput(problem)


def own_ciphers(ciphers: str) -> dict[str, str]:
    """Return the field of an OVNCluster, none for the default."""
    return {} if ciphers == DEFAULT_CIPHERS else {"ciphers": ciphers}
