# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of roles whose values do not have their type, in one line each. Ansible refuses them as well, later, with the whole specification of a role. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.parsing.convert_bool import boolean

from .._base.errors import InvalidInput, list_names
from .shared_variables import SPECIFICATION as SHARED
from .variables import Hostvars, Variables

# The options of a role, as YAML, templates and the command line give them, to the fields of a dataclass. Pure.

if t.TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Options = t.TypeVar("Options", bound=DataclassInstance)


@dataclasses.dataclass(frozen=True)
class ClusterAccess:
    """How the Kubernetes cluster that a host stands for is reached."""

    kubeconfig: t.Any
    context: str


@dataclasses.dataclass(frozen=True)
class Backend:
    """Whether a host is a machine or stands for a Kubernetes cluster."""

    backend: str


def plain(value: t.Any) -> t.Any:
    """Return a copy in plain dictionaries and lists; Ansible's own resolve templates whenever they are read."""
    if isinstance(value, t.Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _items(value: t.Any) -> list[t.Any]:
    if isinstance(value, str):
        raise TypeError("a text has letters, not items")
    return list(value)


# By the annotation of a field. Extra variables of the command line are text, and "false" is a true text.
_CONVERSIONS: dict[str, t.Callable[[t.Any], t.Any]] = {
    "bool": boolean,
    "int": int,
    "str": str,
    "list[str]": lambda value: [str(item) for item in _items(value)],
    "list[dict[str, t.Any]]": lambda value: [plain(dict(item)) for item in _items(value)],
    "dict[str, t.Any]": lambda value: plain(dict(value)),
    "t.Any": plain,
}
# The metadata of a field that is an option of the role, where a shared variable has that name as well
OWN_OPTION: t.Mapping[str, bool] = {"own": True}
# Fields whose shared variable has another name
_SHARED_FIELDS = {"spec": "ovn_cluster_spec", "openvswitch_image": "ovs_image"}


def given_options(values: t.Mapping[str, t.Any]) -> list[str]:
    """Return the names of the options that have a value; None and an empty text, list or mapping are none."""
    return [name for name, value in values.items() if value not in (None, "", [], {})]


def option_name(prefix: str, field: str) -> str:
    """Return the name under which users know a field: the variable of all roles if there is one, else the option of the role with this prefix."""
    shared = _SHARED_FIELDS.get(field, f"ovn_{field}")
    return shared if shared in SHARED else f"{prefix}{field}"


def misplaced_options(
    given: DataclassInstance,
    own: t.Sequence[type[DataclassInstance]],
    specification: t.Mapping[str, t.Mapping[str, t.Any]],
    prefix: str,
) -> list[str]:
    """Return the options of a role that have another value than their default, and that only the other backend has.

    `given` are the options of the other backend with the values of this host, `own` are the classes of those that count here.
    """
    counting = {name for kind in own for name in option_names(kind, prefix)}
    values = {option_name(prefix, field.name): getattr(given, field.name) for field in dataclasses.fields(given)}
    values = {name: value for name, value in values.items() if name in specification and name not in counting}
    return sorted(name for name in given_options(values) if values[name] != specification[name].get("default"))


def unattended_problem(host: str, options: DataclassInstance, prefix: str, playbook: str) -> str:
    """Return which options for a single run an unattended one does not start with, empty if none is set. A person gives them to `playbook`."""
    given = dataclasses.asdict(options)
    found = [option_name(prefix, name) for name, value in given.items() if value not in (False, "present", [])]
    if not found:
        return ""
    return (
        f"{', '.join(found)} {'is' if len(found) == 1 else 'are'} set for {host}. Each is meant for one run that somebody watches, so an unattended one does "
        f"not start with it. Take it out of the inventory, and give it to a run of {playbook} with -e where it is needed. Nothing was changed."
    )


def read_options(options: type[Options], given: t.Mapping[str, t.Any], prefix: str) -> Options:
    """Return the dataclass `options` with what is given for its fields; an empty text is absent, like None, and then the field's default counts.

    `prefix` begins the names of the options as users know them. What has no default and is absent, or has no value of its type, is `InvalidInput`.
    """
    values = {}
    for field in dataclasses.fields(options):
        value = given.get(field.name)
        if value is None or (isinstance(value, str) and not value):
            if _is_required(field):
                raise InvalidInput(f"{option_name(prefix, field.name)} has no value. Set it, or remove the empty one.")
            continue
        kind = str(field.type).partition(" | None")[0]
        try:
            values[field.name] = _CONVERSIONS[kind](value)
        except (TypeError, ValueError) as e:
            raise InvalidInput(
                f'{option_name(prefix, field.name)} is "{str(value)[:200]}". Give a value of type {kind}.'
            ) from e
    return options(**values)


def _option_of(field: dataclasses.Field[t.Any], prefix: str) -> str:
    return f"{prefix}{field.name}" if field.metadata.get("own") else option_name(prefix, field.name)


def option_names(kind: type[Options], prefix: str) -> list[str]:
    """Return the names of the options and shared variables that the fields of a dataclass stand for, in their order."""
    return [_option_of(field, prefix) for field in dataclasses.fields(kind)]


def options_from(kind: type[Options], values: t.Mapping[str, t.Any], prefix: str) -> Options:
    """Return the dataclass with checked values: a field is the shared variable of that name, or the role's option.

    The default of a field counts where its option has none: a role's own default for a shared variable.
    """
    found = {field: values[_option_of(field, prefix)] for field in dataclasses.fields(kind)}
    return kind(**{field.name: value for field, value in found.items() if value is not None or _is_required(field)})


def _is_required(field: dataclasses.Field[t.Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


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
    value = _given(variables.get(option), attributes)
    if value is None or value == "" or (value == {} and attributes.get("options")):
        if attributes.get("required"):
            raise InvalidInput(f"{option} of {host} is missing. Give {_allowed(attributes)}.")
        return attributes.get("default")
    checked = ArgumentSpecValidator({option: {**attributes, "required": False}}).validate({option: value})
    if checked.error_messages:
        raise InvalidInput(option_problem([host], {host: {option: value}}, {option: attributes}))
    typed = checked.validated_parameters[option]
    return _without_absent(typed, attributes)


def _given(value: t.Any, attributes: t.Mapping[str, t.Any]) -> t.Any:
    """Return the value without the suboptions that are an empty text, which are absent as well."""
    if not isinstance(value, t.Mapping) or not attributes.get("options"):
        return value
    return {name: item for name, item in value.items() if item is not None and item != ""}


def _is_secret(attributes: t.Mapping[str, t.Any]) -> bool:
    """Return whether the option or one of its suboptions is hidden."""
    return bool(attributes.get("no_log")) or any(map(_is_secret, (attributes.get("options") or {}).values()))


def _without_absent(value: t.Any, attributes: t.Mapping[str, t.Any]) -> t.Any:
    """Return what was given of suboptions: the validator adds the others as None. In a dictionary without suboptions None is a value."""
    suboptions = attributes.get("options")
    if not suboptions or value is None:
        return value
    if isinstance(value, list):
        return [_without_absent(item, attributes) for item in value]
    return {name: _without_absent(item, suboptions[name]) for name, item in value.items() if item is not None}


def _problems(variables: Variables, specification: Specification) -> t.Iterator[tuple[str, str, str]]:
    """Yield option, value and what is allowed, as texts."""
    for option in sorted(specification.keys() & set(variables)):
        value = variables[option]
        attributes = {**specification[option], "required": False}
        if errors := ArgumentSpecValidator({option: attributes}).validate({option: value}).error_messages:
            empty = value in (None, "")
            shown = "a hidden value" if _is_secret(attributes) else f'"{str(value)[:_SHOWN]}"'
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
