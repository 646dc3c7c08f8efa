# SPDX-License-Identifier: GPL-3.0-or-later
"""Text of configuration files as oslo.config reads them. Pure."""

from __future__ import annotations

import re
import typing as t

from .._base.errors import InvalidInput

Sections = t.Mapping[str, t.Mapping[str, t.Any]]
DEFAULT = "DEFAULT"  # the section of options without a section
_HEADER = "# Written by Ansible: changes are lost.\n"


def render_ini(sections: Sections) -> str:
    """Return the text of the file, sections and options in their order; sections without options are left out.

    A value is a text, a number, a boolean, a list (with commas between its items) or a dictionary (KEY:VALUE, with commas). `InvalidInput`: another one, or one
    that would become more than one line.
    """
    blocks = []
    for section, options in sections.items():
        lines = [f"{name} = {file_value(section, name, value)}" for name, value in options.items()]
        if lines:
            blocks.append("\n".join([f"[{section}]", *lines]) + "\n")
    return "\n".join([_HEADER, *blocks])


def parse_ini(text: str) -> dict[str, dict[str, str]]:
    """Return the sections of a file, by the names of `section_name`, with the value that counts of an option that comes twice.

    As oslo.config reads it (oslo_config/iniparser.py): an indented line goes on with the value before it, quotation marks around a value do not belong to it. A
    line that it would refuse is left out: Neutron does not start with it, and says so.
    """
    sections: dict[str, dict[str, str]] = {}
    options: dict[str, str] = {}
    name = ""  # of the option whose value may go on
    for line in map(str.rstrip, text.splitlines()):
        assignment = re.match(r"([^\s#;\[=:][^=:]*)[=:](.*)", line)
        if assignment:
            name = assignment[1].strip()
            options[name] = _unquoted(assignment[2].strip()).replace("$$", "$")
        elif line.startswith((" ", "\t")) and name:
            options[name] += f"\n{line.lstrip()}"
        else:
            name = ""
            if line.startswith("[") and line.endswith("]"):
                options = sections.setdefault(section_name(line[1:-1]), {})
    return sections


def _unquoted(text: str) -> str:
    return text[1:-1] if text[:1] in ("'", '"') and text[:1] == text[-1:] else text


def merge_sections(*parts: Sections) -> dict[str, dict[str, t.Any]]:
    """Return all sections in one; of an option that comes twice, the last value counts."""
    merged: dict[str, dict[str, t.Any]] = {}
    for part in parts:
        for section, options in part.items():
            merged.setdefault(section, {}).update(options)
    return merged


def normalized(sections: Sections) -> dict[str, dict[str, t.Any]]:
    """Return the sections with the names that oslo.config finds in files, those that are one for it in one.

    It knows a section by its name in small letters, DEFAULT alone as it stands, and an option by its name with underscores (oslo_config/cfg.py:
    `_normalize_group_name`, `Opt.dest`). In documentation and on command lines options have dashes as well, which it does not read in files.
    """
    return merge_sections(
        *(
            {section_name(section): {option_name(option): value for option, value in options.items()}}
            for section, options in sections.items()
        )
    )


def section_name(name: t.Any) -> str:
    """Return the name of a section as `normalized` has it."""
    return str(name) if name == DEFAULT else str(name).lower()


def option_name(name: t.Any) -> str:
    """Return the name of an option as `normalized` has it. Capitals count, for oslo.config as well."""
    return str(name).replace("-", "_")


def has_option(sections: Sections, section: str, option: str) -> bool:
    """Return whether normalized sections have this option, whatever its spelling; also in capitals, which are meant, though nobody would read them."""
    return option_name(option).lower() in sections.get(section_name(section), {})


def check_extra(extra: t.Any, ours: Sections, option: str) -> dict[str, dict[str, t.Any]]:
    """Return sections that users add, normalized. `option` is the name that users know.

    `InvalidInput` if these are no sections, set what has an option of its own (`ours`, normalized), or have a section [default], which nobody reads.
    """
    if not isinstance(extra, t.Mapping) or not all(isinstance(options, t.Mapping) for options in extra.values()):
        raise InvalidInput(f"{option} is no dictionary of sections. Give {{SECTION: {{OPTION: VALUE}}}}.")
    for section, options in extra.items():
        if section_name(section) == DEFAULT.lower():
            raise InvalidInput(
                f"{option} has a section [{section}]. For oslo.config it is another one than [{DEFAULT}], and nobody reads it. Write {DEFAULT}."
            )
        twice = sorted(name for name in options if has_option(ours, section, name))
        if twice:
            raise InvalidInput(
                f"{option} sets {', '.join(twice)} in [{section}], which the collection sets itself. Remove it there and use the option of the role."
            )
    return normalized(extra)


def file_value(section: str, name: str, value: t.Any) -> str:
    """Return a value as it stands in a file, where oslo.config replaces $NAME by the value of an option; errors as of `plain_value`."""
    return plain_value(section, name, value).replace("$", "$$")


def plain_value(section: str, name: str, value: t.Any) -> str:
    """Return a value as text; `InvalidInput` for one that has none. A text of ansible-vault is a sequence, too, before ansible-core 2.19."""
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, (str, int, float)):
        text = str(value)
    elif isinstance(value, t.Mapping):
        text = ",".join(f"{key}:{item}" for key, item in value.items())
    elif isinstance(value, (list, tuple)):
        text = ",".join(str(item) for item in value)
    elif isinstance(value, t.Sequence):
        text = str(value)
    else:
        raise InvalidInput(
            f"{name} in [{section}] is {value!r}. Give a text, a number, a boolean, a list or a dictionary."
        )
    if "\n" in text or "\r" in text:
        raise InvalidInput(f"{name} in [{section}] has more than one line. Give one.")
    return text
