"""Which of the planner's reasons and refusals were reached: the texts in its source against what runs said."""

from __future__ import annotations

import ast
import inspect
import re
import types
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._raft import (
    gates,
    maintenance,
    plan,
    record,
    record_checks,
    recorded_members,
    replacement,
    rounds,
    step,
    step_gates,
)

MODULES: tuple[types.ModuleType, ...] = (
    plan,
    maintenance,
    recorded_members,
    replacement,
    step_gates,
    record_checks,
    step,
    record,
    rounds,
    gates,
)
_MAKERS = {"Refused", "TimedOut", "Step", "_Closed", "InvalidInput"}


class Branch(t.NamedTuple):
    """One text that the planner can give: where it stands, the pattern that finds it, and how it reads."""

    place: str
    pattern: re.Pattern[str]
    text: str


def branches() -> list[Branch]:
    found = []
    for module in MODULES:
        name = module.__name__.rsplit(".", 1)[1]
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _MAKERS:
                position = 2 if node.func.id == "Step" else 0
                if len(node.args) > position:
                    parts = _parts(node.args[position])
                    longest = max(parts, key=len, default="")
                    if len(longest) > 5:
                        text = "…".join(parts)
                        pattern = ".*".join(re.escape(part) for part in parts)
                        found.append(Branch(f"{name}.py:{node.lineno}", re.compile(pattern, re.S), text[:100]))
    return found


def _parts(node: ast.expr) -> list[str]:
    """The constant parts of a text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return [part for value in node.values for part in _parts(value)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _parts(node.left) + _parts(node.right)
    return []


def split(reached: t.Iterable[str]) -> tuple[list[Branch], list[Branch]]:
    """Branches that were reached, and those that were not."""
    said = list(reached)
    hit, missed = [], []
    for branch in branches():
        (hit if any(branch.pattern.search(text) for text in said) else missed).append(branch)
    return hit, missed
