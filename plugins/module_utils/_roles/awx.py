# SPDX-License-Identifier: GPL-3.0-or-later
"""The role ovn_awx: its options and the files of `awx/` to the arguments of the module ovn_awx. Pure."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .option_types import OWN_OPTION

_OPTION = re.compile(r"\{\{ (ovn_awx_\w+) \}\}")
_PREFIX = "ovn_awx_"
# What the module is told beside the resources
_ARGUMENTS = (
    "host",
    "token",
    "username",
    "password",
    "ca_certificate",
    "validate_certs",
    "organization",
    "take_over",
    "request_timeout",
    "wait_timeout",
)


@dataclasses.dataclass(frozen=True)
class AwxOptions:
    """The options of the role. The files of `awx/` name most of them."""

    host: str
    token: str
    username: str
    password: str
    ca_certificate: str
    validate_certs: bool
    organization: str
    name: str
    image: str = dataclasses.field(metadata=OWN_OPTION)
    image_pull: str
    project_url: str
    project_branch: str
    project_credential: str
    inventory_url: str
    inventory_branch: str
    inventory_path: str
    inventory_credential: str
    credentials: list[str]
    notification_url: str
    approval_timeout: int
    reconcile: bool
    neutron: bool
    take_over: list[str]
    request_timeout: float
    wait_timeout: float


def awx_arguments(options: AwxOptions, files: t.Iterable[t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """Return the arguments of ovn_awx. `files` are those of `awx/`, in which an option stands as `{{ ovn_awx_name }}`; AWX reads other templates itself."""
    values = dataclasses.asdict(options)
    resources = {kind: _filled(objects, values) for file in files for kind, objects in file.items()}
    return {**{name: None if values[name] == "" else values[name] for name in _ARGUMENTS}, "resources": resources}


def _filled(value: t.Any, values: t.Mapping[str, t.Any]) -> t.Any:
    if isinstance(value, t.Mapping):
        return {key: _filled(item, values) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, values) for item in value]
    if not isinstance(value, str):
        return value
    if alone := _OPTION.fullmatch(value):
        return values[alone[1].removeprefix(_PREFIX)]  # with its type
    return _OPTION.sub(lambda found: str(values[found[1].removeprefix(_PREFIX)]), value)
