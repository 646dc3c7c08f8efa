# SPDX-License-Identifier: GPL-3.0-or-later
"""One file with all the Python that runs inside pods: `python3 c5c3-ovn.pyz COMMAND`. It is built from the code that is running, so pods apply the same
rules as the modules. Equal code gives equal bytes, on every machine.
"""

from __future__ import annotations

import io
import os
import re
import typing as t
import zipfile

# For Ansible, too: what is imported here is sent with every module that builds the archive.
from . import main as entry

ROOT = "c5c3_ovn"
LIMIT = 600 * 1024  # of the 1 MiB that a ConfigMap holds; base64 makes 800 KiB of it

_FOLDER = os.path.dirname(os.path.dirname(__file__))  # of all module_utils, maybe inside a zip file
# Our code is formatted, so this expression finds every import, and it is faster than a parser in runs that change nothing.
_IMPORT = re.compile(r"^ *from (\.+)([\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)
_WORD = re.compile(r"\w+")
_HEADER = """\
# SPDX-License-Identifier: GPL-3.0-or-later
"""
_START = f"""{_HEADER}
import sys

if sys.version_info < (3, 9):
    found = sys.version.split()[0]
    sys.exit("c5c3-ovn.pyz needs Python 3.9 or newer: this is " + found + ". For pods, set spec.agentImage of the OVNCluster to an image that has it.")

from {ROOT}._agent.main import main

sys.exit(main(sys.argv[1:]))
"""


class _Source(t.NamedTuple):
    text: str
    is_package: bool


def build_archive() -> bytes:
    """Return a zipapp (PEP 441) of `_agent.main` and everything of ours that it imports."""
    members = {"__main__.py": _START, f"{ROOT}/__init__.py": _HEADER}
    for name, source in _closure(entry.__name__.rpartition("module_utils.")[2]).items():
        path = name.replace(".", "/")
        members[f"{ROOT}/{path}{'/__init__' if source.is_package else ''}.py"] = source.text
    content = io.BytesIO()
    # Stored, not compressed: another version of zlib would give other bytes.
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(members):
            entry_info = zipfile.ZipInfo(path, date_time=(1980, 1, 1, 0, 0, 0))
            entry_info.create_system = 3  # Unix
            entry_info.external_attr = 0o100644 << 16
            archive.writestr(entry_info, members[path].encode())
    built = content.getvalue()
    if len(built) > LIMIT:
        raise AssertionError(f"the archive for pods has {len(built)} bytes, more than {LIMIT}")
    return built


def _closure(first: str) -> dict[str, _Source]:
    """Return our modules that `first` imports, directly or not, and their packages; names are relative to module_utils."""
    found: dict[str, _Source] = {}
    todo = [first]
    while todo:
        name = todo.pop()
        if not name or name in found:
            continue
        source = _source(name)
        if source is None:  # a function or class of a package that is in `found` already
            continue
        found[name] = source
        todo.append(name.rpartition(".")[0])
        todo.extend(_imports(name, source))
    return found


def _source(name: str) -> _Source | None:
    """Return the source from where Python loads it: a folder, or the zip file that Ansible sends to its targets. Nothing is imported."""
    path = os.path.join(_FOLDER, *name.split("."))
    for candidate, is_package in ((f"{path}.py", False), (os.path.join(path, "__init__.py"), True)):
        try:
            return _Source(_read(candidate).decode(), is_package)
        except OSError:  # not a file
            continue
    return None


class _Loader(t.Protocol):
    def get_data(self, path: str) -> bytes: ...


def _read(path: str) -> bytes:
    if os.path.isdir(_FOLDER):
        with open(path, "rb") as file:
            return file.read()
    return t.cast(_Loader, entry.__loader__).get_data(path)


def _imports(name: str, source: _Source) -> t.Iterator[str]:
    """Yield the names of relative imports. The x in `from . import x` may be a module or not."""
    parts = name.split(".")
    for dots, module, names in _IMPORT.findall(source.text):
        package = parts[: len(parts) - len(dots) + source.is_package]
        target = ".".join([*package, *([module] if module else [])])
        yield target
        yield from (f"{target}.{word}".lstrip(".") for word in _WORD.findall(names))
