# SPDX-License-Identifier: GPL-3.0-or-later
"""The role ovn_awx: its options and the files of `awx/` to the arguments of the module ovn_awx. Pure."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .option_types import OWN_OPTION

_OPTION = re.compile(r"\{\{ ovn_awx_(\w+)(?:\.(\w+))? \}\}")
# Arguments of the module beside the resources and the controller
_ARGUMENTS = ("organization", "take_over", "wait_timeout")
SCHEDULES = ("reconcile", "neutron")  # off unless an inventory names them


@dataclasses.dataclass(frozen=True)
class AwxOptions:
    """The options of the role. The files of `awx/` name most of them."""

    controller: dict[str, t.Any]
    organization: str
    name: str
    image: str = dataclasses.field(metadata=OWN_OPTION)
    project: dict[str, t.Any]
    inventory: dict[str, t.Any]
    credentials: list[str]
    notification_url: str
    approval_timeout: int
    schedules: list[str]
    take_over: list[str]
    wait_timeout: int = 300  # for AWX to fetch the project


def awx_arguments(options: AwxOptions, files: t.Iterable[t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """Return the arguments of ovn_awx.

    `files` are those of `awx/`, in which an option stands as `{{ ovn_awx_name }}` or `{{ ovn_awx_project.url }}`. AWX reads other templates itself.
    """
    values = {
        **dataclasses.asdict(options),
        "image_pull": image_pull(options.image),
        "schedules": {name: name in options.schedules for name in SCHEDULES},
    }
    resources = {kind: _filled(objects, values) for file in files for kind, objects in file.items()}
    return {**options.controller, **{name: values[name] for name in _ARGUMENTS}, "resources": resources}


def image_pull(image: str) -> str:
    """Return when AWX pulls an image: always if its tag moves, else if it is missing."""
    _repository, _colon, tag = image.rpartition("/")[2].partition(":")
    return "always" if tag in ("", "latest") and "@" not in image else "missing"


def _value(found: re.Match[str], values: t.Mapping[str, t.Any]) -> t.Any:
    value = values[found[1]]
    return value.get(found[2], "") if found[2] else value


def _filled(value: t.Any, values: t.Mapping[str, t.Any]) -> t.Any:
    if isinstance(value, t.Mapping):
        return {key: _filled(item, values) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, values) for item in value]
    if not isinstance(value, str):
        return value
    if alone := _OPTION.fullmatch(value):
        return _value(alone, values)  # with its type
    return _OPTION.sub(lambda found: str(_value(found, values)), value)
