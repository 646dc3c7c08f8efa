# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of Kubernetes, from a checked specification. Pure: nothing here talks to a cluster."""

from __future__ import annotations
