# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The condition of the certificates that the members serve. Pure.
"""

from __future__ import annotations

import datetime
import typing as t

from .._kubernetes.timestamps import format_timestamp, parse_timestamp
from .conditions import StatusCondition, repeat_condition

CERTIFICATE = "CertificateValid"
SOON = datetime.timedelta(days=30)  # as ovn_verify_certificate_days


def first_end(ends: t.Mapping[str, float]) -> str | None:
    """Return when the first of the certificates ends, None if there are none."""
    return format_timestamp(_time(min(ends.values()))) if ends else None


def certificate_condition(
    ends: t.Mapping[str, float] | None, before: t.Mapping[str, t.Any] | None, now: str
) -> StatusCondition | None:
    """Return the condition; none without TLS. `ends` None: the caller has not asked the servers."""
    if not ends:
        return repeat_condition(before) if before and ends is None else None
    endpoint = min(ends, key=lambda one: (ends[one], one))
    end, present = _time(ends[endpoint]), parse_timestamp(now)
    served = f"The certificate at {endpoint} "
    if end <= present:
        renew = "Clients refuse it. Renew it, for example with a run of c5c3.ovn.site."
        return StatusCondition(
            CERTIFICATE, "False", "Expired", f"{served}has expired on {format_timestamp(end)}. {renew}"
        )
    message = f"{served}ends first, on {format_timestamp(end)}."
    if end - present < SOON:
        renew = "Renew it, for example with a run of c5c3.ovn.site."
        return StatusCondition(CERTIFICATE, "True", "ExpiresSoon", f"{message} {renew}")
    return StatusCondition(CERTIFICATE, "True", "Valid", message)


def _time(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
