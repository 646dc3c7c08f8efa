# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates of one host: what is installed, whether it still fits, and how a new pair is put in place."""

from __future__ import annotations
