# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a list of ciphers is one for a server of databases."""

from __future__ import annotations

import re
import ssl

from .._base.errors import InvalidInput
from .._base.tls_options import CIPHERS_PATTERN, DEFAULT_CIPHERS


def check_ciphers(option: str, ciphers: str) -> None:
    """Raise `InvalidInput` if the value of this option is no list of ciphers, or OpenSSL of this Python knows none of them.

    A server that knows none logs that, and goes on with those of its library. Not for a specification that is read: an older OpenSSL in a pod may know fewer.
    """
    if not re.search(CIPHERS_PATTERN, ciphers):
        raise InvalidInput(
            f'{option} is "{ciphers}", which is no list of ciphers. Write it as openssl-ciphers(1) does, with colons and without spaces, for example '
            f"{DEFAULT_CIPHERS}. Nothing was changed."
        )
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).set_ciphers(ciphers)
    except ssl.SSLError as e:
        raise InvalidInput(
            f'{option} is "{ciphers}", and OpenSSL knows none of these ciphers. A server would ignore the list. `openssl ciphers -v` has the names; the '
            f"default is {DEFAULT_CIPHERS}. Nothing was changed."
        ) from e
