"""What docs/monitoring.md says of the report's structure, and where a report differs from it."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "monitoring.md"
# One key, or several of one dictionary with one type: the others begin with their dot.
KEYS = re.compile(r"^- ((?:`[^`]+`(?:, )?)+) \(([a-z ]+)\)", re.MULTILINE)
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "dictionary": (dict,),
    "null": (type(None),),
}


def documented() -> dict[str, str]:
    """The type of each key on the page. The Northbound has the keys of the Southbound."""
    section = PAGE.read_text(encoding="utf-8").partition("\n## The report as data\n")[2].partition("\n## ")[0]
    rows: dict[str, str] = {}
    for names, kind in KEYS.findall(section):
        first, *others = names.strip("`").split("`, `")
        rows |= dict.fromkeys([first, *(first.rpartition(".")[0] + other for other in others)], kind)
    same = {key.replace("southbound", "northbound", 1): kind for key, kind in rows.items() if key[:10] == "southbound"}
    return {**rows, **same}


def differences(report: t.Mapping[str, t.Any]) -> list[str]:
    """Return what is in the report but not on the page, or the other way round, or of another type."""
    return sorted(set(_differences(report, "", documented())))


def _differences(value: t.Any, path: str, page: t.Mapping[str, str]) -> t.Iterator[str]:
    kind = page.get(path)
    if kind is not None and not any(_is(value, one) for one in kind.split(" or ")):
        yield f"{path} is {value!r}, not {kind}"
        return
    below = {key[len(path) + bool(path) :].split(".")[0] for key in page if not path or key.startswith(f"{path}.")}
    if isinstance(value, dict) and below:
        names = {name.removesuffix("[]") for name in below}
        if names == {"NAME"}:
            for item in value.values():
                yield from _differences(item, f"{path}.NAME", page)
            return
        yield from (f"{path}.{name} is missing" for name in names - set(value))
        for name, item in value.items():
            inner = f"{path}.{name}" if path else name
            if name not in names:
                yield f"{inner} is not on the page"
            elif f"{name}[]" in below and isinstance(item, (list, tuple)):
                for one in item:
                    yield from _differences(one, f"{inner}[]", page)
            else:
                yield from _differences(item, inner, page)
    elif kind is None:
        yield f"{path} has no type on the page"


def _is(value: t.Any, kind: str) -> bool:
    if kind.startswith("list of "):
        return isinstance(value, list) and all(_is(item, kind.removeprefix("list of ")) for item in value)
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
