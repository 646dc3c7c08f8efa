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


# What no story reaches, by a part of its text, and why it is in the product all the same.
_ONE_TEXT = "the record is one text in the model, and never damaged: tests of the record"
UNREACHED: dict[str, str] = {
    "are declared for": "declarations of the model are odd: tests of the plan",
    "have the same": "each host of the model has an address of its own: tests of the plan",
    ", a name. Set ovn_address": "addresses of the model are literal: tests of the plan",
    "nothing is installed there": "check mode is not modelled: tests of the plan",
    "neither a cluster id nor a usable permit": "records are only made by runs: tests of the plan",
    "remembers log entry … of term": "launchers of the model keep every member that lacks an entry from voting: tests on daemons",
    "is about": _ONE_TEXT,
    "The state record has format": _ONE_TEXT,
    "The state record is damaged": _ONE_TEXT,
    "The state record of … is damaged": _ONE_TEXT,
    "The state record cannot be read": _ONE_TEXT,
    "This is the state record of": _ONE_TEXT,
    "The state record lacks": _ONE_TEXT,
    "The state record contradicts itself": _ONE_TEXT,
    "no member was asked": "a run that observes no member has no leader, and asks no gate",
    "no member answers for the recorded cluster": "refused as a split before any gate is asked: a second lock",
    "another cluster answers, too": "refused as a split before any gate is asked: a second lock",
    "is not leader in its _Server database": "both answers of a modelled server are of one moment: tests of the gates",
    "the election timer is changing": "timers of the model never change: tests of the gates",
    "two samples are needed": "each answer of a modelled leader has two: tests of the gates",
    "it is unknown how far": "the lists of both samples of a modelled leader are of one moment: tests of the gates",
    "the control socket of the leader": "modelled servers always answer both sockets: tests of the gates",
    "is listed … times": "short ids of the model are unique: tests of the gates",
}


def explain(branch: Branch) -> str:
    """Why no story reaches it, empty if one should."""
    return next((why for part, why in UNREACHED.items() if part in branch.text), "")


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
