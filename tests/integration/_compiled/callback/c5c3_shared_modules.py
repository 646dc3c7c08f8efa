"""Runs of ansible-playbook in tests share the zip files that they make of modules; each would make them again, parsing some hundred files for a module.

Ansible keeps them for the length of a run, in a folder whose name this plugin knows. Shared are those of the same collection and ansible-core.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import typing as t
from pathlib import Path

import ansible.release
from ansible import constants
from ansible.executor import module_common
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: c5c3_shared_modules
type: aggregate
short_description: Share the zip files of modules among the runs of a test session
description: The folder $C5C3_OVN_COMPILED takes them.
"""


def _share(folder: Path) -> None:
    # Older versions do not lock the folder against other runs.
    if not hasattr(module_common, "_locking"):
        return
    spec = importlib.util.find_spec("ansible_collections.c5c3.ovn")
    collection = [os.path.realpath(place) for place in (spec and spec.submodule_search_locations) or ()]
    key = repr((ansible.release.__version__, os.path.realpath(ansible.release.__file__), collection))
    shared = folder / f"modules-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    with contextlib.suppress(OSError):
        shared.mkdir(exist_ok=True)
    if os.access(shared, os.W_OK):
        with contextlib.suppress(OSError):
            Path(constants.DEFAULT_LOCAL_TMP, "ansiballz_cache").symlink_to(shared)


class CallbackModule(CallbackBase):
    """It hears of nothing: that it is loaded before the first task is enough."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "c5c3_shared_modules"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *arguments: t.Any, **settings: t.Any) -> None:
        super().__init__(*arguments, **settings)
        if folder := os.environ.get("C5C3_OVN_COMPILED"):
            _share(Path(folder))
