# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    # The TLS files of a connection to an OVSDB server.
    DOCUMENTATION = r"""
options:
  private_key:
    description:
      - Path of the client's private key (PEM) on the managed host.
      - Needed for C(ssl:) endpoints, unused for C(tcp:) and C(unix:) ones.
      - Goes together with O(certificate) and O(ca_certificate).
    type: path
  certificate:
    description:
      - Path of the client's certificate (PEM) on the managed host, signed by the authority that the servers trust.
    type: path
  ca_certificate:
    description:
      - Path of the certificates (PEM) on the managed host that the servers' certificates are checked against.
      - The file may hold several certificates one after another, for example while an authority is replaced.
    type: path
"""
