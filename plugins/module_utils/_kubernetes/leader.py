# SPDX-License-Identifier: GPL-3.0-or-later
"""One of several processes leads: an election by a Lease."""

from __future__ import annotations

import contextlib
import functools
import typing as t

from .._base.errors import InvalidInput

try:
    import kubernetes
    import urllib3
    from kubernetes.client.exceptions import ApiException
    from kubernetes.leaderelection import electionconfig, leaderelection
    from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock
except ImportError as e:
    _PROBLEM = str(e)
else:
    _PROBLEM = ""

# As the controllers of Kubernetes have them: seconds that a dead leader is waited for, that a leader tries to renew, and between two attempts.
_LEASE, _RENEWAL, _RETRY = 15, 10, 2
_TIMEOUT = 4.0  # seconds for one answer of the API server: two attempts fit into a renewal


class _TimedApi:
    """The API with a limit for each request."""

    def __init__(self, api: t.Any) -> None:
        self._api = api

    def __getattr__(self, name: str) -> t.Any:
        return functools.partial(getattr(self._api, name), _request_timeout=(_TIMEOUT, _TIMEOUT))


class _PatientLock:
    """The lock of the library, for which an API server that does not answer is a failed attempt and no end."""

    def __init__(self, name: str, namespace: str, identity: str) -> None:
        self.name, self.namespace, self.identity = name, namespace, identity
        self._lock = LeaseLock(name, namespace, identity)
        self._lock.api_instance = _TimedApi(self._lock.api_instance)

    def get(self, *arguments: t.Any) -> t.Any:
        try:
            return self._lock.get(*arguments)
        except (urllib3.exceptions.HTTPError, OSError) as e:
            return False, ApiException(reason=str(e))

    def create(self, *arguments: t.Any, **options: t.Any) -> t.Any:
        with contextlib.suppress(urllib3.exceptions.HTTPError, OSError):
            return self._lock.create(*arguments, **options)
        return False

    def update(self, *arguments: t.Any) -> t.Any:
        with contextlib.suppress(urllib3.exceptions.HTTPError, OSError):
            return self._lock.update(*arguments)
        return False


def lead(
    name: str, namespace: str, identity: str, on_start: t.Callable[[], None], on_stop: t.Callable[[], None]
) -> None:
    """Wait until this process leads, then run `on_start` in a thread; call `on_stop` and return once it leads no more, or if `on_start` has raised an error."""
    if _PROBLEM:
        raise InvalidInput(
            f"The election of a leader needs the Python library kubernetes, version 36 or newer ({_PROBLEM})."
        )
    kubernetes.config.load_config()
    config = electionconfig.Config(
        _PatientLock(name, namespace, identity),
        _LEASE,
        _RENEWAL,
        _RETRY,
        onstarted_leading=on_start,
        onstopped_leading=on_stop,
    )
    leaderelection.LeaderElection(config).run()
