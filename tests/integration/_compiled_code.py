"""One folder for what the processes of a test session compile: each would compile the same again, which is a quarter of a playbook's processor time."""

from __future__ import annotations

import os
import pathlib
import tempfile

import pytest

_HERE = pathlib.Path(__file__).parent / "_compiled"


def share(config: pytest.Config) -> None:
    """Set the environment of all processes of these tests; workers have it from the process that started them, which also removes the folder.

    A test that gives a process an environment of its own runs that process without it, as `test_tarball.py` does.
    """
    if "C5C3_OVN_COMPILED" in os.environ:
        return
    folder = tempfile.TemporaryDirectory(prefix="c5c3-compiled-", ignore_cleanup_errors=True)
    config.add_cleanup(folder.cleanup)
    os.environ["C5C3_OVN_COMPILED"] = folder.name
    _prepend("PYTHONPATH", _HERE / "python")
    _prepend("ANSIBLE_CALLBACK_PLUGINS", _HERE / "callback")
    os.environ["ANSIBLE_CALLBACKS_ENABLED"] = "c5c3_shared_modules"


def _prepend(name: str, path: pathlib.Path) -> None:
    os.environ[name] = os.pathsep.join([str(path), *filter(None, [os.environ.get(name)])])
