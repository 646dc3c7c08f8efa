# SPDX-License-Identifier: GPL-3.0-or-later
"""What --limit and --tags leave of a run. Ansible calls a run that does nothing a success. Pure."""

from __future__ import annotations

import typing as t

# Which Ansible calls localhost, whatever its name in the inventory is
_LOCALHOST = {"localhost", "127.0.0.1", "::1"}
_TAGS_OF_ANSIBLE = {"all", "always", "tagged", "untagged"}
_SHARED_TAGS = ("pki", "packages", "config", "databases", "chassis")


def limit_problem(hosts: t.Iterable[str], central: t.Sequence[str], limit: str = "") -> dict[str, str]:
    """Return why no report can be made: as `refusal` of a run that is about the report, as `note` at the end of another one. Both are empty if it can be.

    `hosts` are those of a play on localhost and all others, without the ones that `limit` leaves out.
    """
    present = set(hosts)
    if limit and central and not present & set(central):
        cause = f"--limit '{limit}' leaves out all central hosts"
        return {
            "refusal": f"There is nothing to report: {cause}. Run it without --limit.",
            "note": f"Not verified: {cause}. Run c5c3.ovn.verify without --limit.",
        }
    if limit and not present & _LOCALHOST:
        cause = f"the output comes from localhost, which --limit '{limit}' leaves out"
        return {
            "refusal": f"Nothing would be printed: {cause}. Use --limit '{limit},localhost'.",
            "note": f"Not verified: {cause}. Run c5c3.ovn.verify without --limit.",
        }
    return {"refusal": "", "note": ""}


def run_tags_problem(run_tags: t.Sequence[str], known: t.Sequence[str] | None = None) -> str:
    """Return why a run with these tags would do nothing, an empty text if it does something. `known` are the tags of its playbook, None if they are unknown."""
    if known is None or set(run_tags) & (_TAGS_OF_ANSIBLE | set(known)):
        return ""
    given = f"--tags {','.join(sorted(run_tags))} would do nothing"  # Ansible keeps them in no order
    wrapped = "If a playbook of yours imports this one, list all of its tags in ovn_verify_known_tags."
    if not known:
        return f"{given}: this playbook has no tags. Run it without --tags. {wrapped}"
    return f"{given}: this playbook has none of these tags. Use one or more of {', '.join(known)}. {wrapped}"


def skipped_tags_problem(skipped: t.Collection[str]) -> str:
    """Return why a run must not skip these tags. Ansible skips a task that has any of them, and what several tags need has all of them."""
    found = [tag for tag in _SHARED_TAGS if tag in skipped]
    if not found:
        return ""
    return (
        f"--skip-tags {','.join(found)} would leave out the whole rollout. Name what is to be done with --tags instead; "
        "only precheck and verify can be skipped."
    )
