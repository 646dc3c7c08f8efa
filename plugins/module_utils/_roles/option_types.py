# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of roles whose values do not have their type, in one line each. Ansible refuses them as well, later, with the whole specification of a role. Pure."""

from __future__ import annotations

import typing as t

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from .._base.errors import InvalidInput
from .._base.sentences import list_names
from .variables import Hostvars, Variables

Specification = t.Mapping[str, t.Mapping[str, t.Any]]  # option: what argument_specs.yml says of it

_ALLOWED = {"bool": "true or false", "int": "an integer", "float": "a number", "dict": "a dictionary", "list": "a list"}
_SHOWN = 80  # letters of a value


def option_problem(hosts: t.Iterable[str], hostvars: Hostvars, specification: Specification) -> str:
    """Return which options of these hosts have a value that is not allowed, and what is; empty if none has."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for host in hosts:
        for problem in _problems(hostvars[host], specification):
            found.setdefault(problem, []).append(host)
    return " ".join(
        f"{option} of {list_names(names)} is {shown}, which is not allowed: give {allowed}."
        for (option, shown, allowed), names in found.items()
    )


def check_options(host: str, specification: Specification, variables: Variables) -> dict[str, t.Any]:
    """Return every option of a specification in its type; an absent one has its default, or is None. An empty text is absent.

    `InvalidInput` has one line for each option that is missing, cannot be rendered or has a value that is not allowed.
    """
    values: dict[str, t.Any] = {}
    problems: list[str] = []
    for option, attributes in specification.items():
        try:
            values[option] = _checked(host, option, attributes, variables)
        except InvalidInput as e:
            problems.append(str(e))
    if problems:
        raise InvalidInput("\n".join(problems))
    return values


def _checked(host: str, option: str, attributes: t.Mapping[str, t.Any], variables: Variables) -> t.Any:
    value = variables.get(option)
    if value is None or value == "" or (value == {} and attributes.get("options")):
        if attributes.get("required"):
            raise InvalidInput(f"{option} of {host} is missing. Give {_allowed(attributes)}.")
        return attributes.get("default")
    checked = ArgumentSpecValidator({option: {**attributes, "required": False}}).validate({option: value})
    if checked.error_messages:
        raise InvalidInput(option_problem([host], {host: {option: value}}, {option: attributes}))
    typed = checked.validated_parameters[option]
    return _without_none(typed) if attributes.get("options") else typed


def _without_none(value: t.Any) -> t.Any:
    """Return what was given of suboptions: the validator adds the others as None."""
    if isinstance(value, dict):
        return {name: _without_none(item) for name, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list) else value


def _problems(variables: Variables, specification: Specification) -> t.Iterator[tuple[str, str, str]]:
    """Yield option, value and what is allowed, as texts."""
    for option in sorted(specification.keys() & set(variables)):
        value = variables[option]
        attributes = {**specification[option], "required": False}
        if errors := ArgumentSpecValidator({option: attributes}).validate({option: value}).error_messages:
            empty = value in (None, "")
            shown = "a hidden value" if attributes.get("no_log") else f'"{str(value)[:_SHOWN]}"'
            inside = f" ({errors[0].rstrip('.')})" if attributes.get("options") and not empty else ""
            yield (
                option,
                "empty" if empty else shown,
                f"{_allowed(attributes)}{', or leave it out' if empty else inside}",
            )


def _allowed(attributes: t.Mapping[str, t.Any]) -> str:
    kind = attributes.get("type", "str")
    choices = attributes.get("choices")
    allowed = f"one of {', '.join(map(str, choices))}" if choices else _ALLOWED.get(kind, "a text")
    if kind == "list" and (elements := attributes.get("elements")):
        return f"a list ({elements}){f' of {allowed}' if choices else ''}"
    return allowed
