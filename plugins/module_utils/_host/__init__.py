# SPDX-License-Identifier: GPL-3.0-or-later
"""What modules do on the managed host itself, each on its own and several in one call."""
