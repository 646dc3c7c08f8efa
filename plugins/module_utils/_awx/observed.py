# SPDX-License-Identifier: GPL-3.0-or-later
"""What AWX has of the desired objects: one list for each kind, and the surveys, notifications and nodes of those that are there."""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.errors import Refused
from .client import AwxClient
from .desired import KIND_OF, KINDS, MARK, REFERENCES, DesiredObject, credential_slot

Json = dict[str, t.Any]


@dataclasses.dataclass
class ObservedAwx:
    """`objects`: what AWX has, by kind and name; `credentials` by name. `ids`: ids by kind and name, None for what a run in check mode would have made.
    `surveys`, `linked` (ids by list) and `nodes` (by identifier) are those of the object with this kind and name.
    """

    objects: dict[tuple[str, str], Json]
    ids: dict[tuple[str, str], int | None]
    surveys: dict[tuple[str, str], Json]
    linked: dict[tuple[str, str, str], set[int]]
    nodes: dict[str, dict[str, Json]]
    credentials: dict[str, Json] = dataclasses.field(default_factory=dict)


def read_awx(client: AwxClient, organization: str, desired: t.Sequence[DesiredObject]) -> ObservedAwx:
    """Read what there is, and refuse what is missing outside of our own objects: the organization and credentials."""
    observed = ObservedAwx({}, {}, {}, {}, {})
    found = client.list("organizations/", "list its organizations", name=organization)
    if not found:
        raise Refused(
            f'AWX at {client.host} has no organization "{organization}", or its user may not see it.'
            " Create it, or name another one with ovn_awx_organization. Nothing was changed."
        )
    number = int(found[0]["id"])
    observed.ids["organizations", organization] = number
    _read_credentials(client, organization, number, desired, observed)
    for kind in KINDS:
        ours = [one for one in desired if one.kind == kind.name]
        if ours:
            _read_kind(client, kind.name, number, ours, observed)
    for one in desired:
        if (one.kind, one.name) in observed.objects:
            _read_parts(client, one, observed)
    return observed


def _read_credentials(
    client: AwxClient, organization: str, number: int, desired: t.Iterable[DesiredObject], observed: ObservedAwx
) -> None:
    names = {name for one in desired for name in one.links.get("credentials", ())}
    names |= {one.fields["credential"] for one in desired if one.fields.get("credential")}
    if not names:
        return
    listed = client.list("credentials/", "list its credentials", organization=number)
    for name in sorted(names):
        same = [one for one in listed if one["name"] == name]
        if len(same) != 1:
            raise Refused(
                f'The organization "{organization}" has {len(same) or "no"} credential{"s" if same else ""} "{name}".'
                " Create it there, or correct ovn_awx_credentials, ovn_awx_project.credential or ovn_awx_inventory.credential. Nothing was changed."
            )
        observed.ids["credentials", name] = int(same[0]["id"])
        observed.credentials[name] = same[0]
    for one in desired:
        slots: dict[t.Any, str] = {}
        for name in one.links.get("credentials", ()):
            other = slots.setdefault(credential_slot(observed.credentials[name]), name)
            if other != name:
                raise Refused(
                    f'The credentials "{other}" and "{name}" have the same type, and AWX gives a template only one of each.'
                    " Take one out of ovn_awx_credentials; those of type Vault need different vault ids. Nothing was changed."
                )


def _read_kind(
    client: AwxClient, kind: str, organization: int, ours: t.Sequence[DesiredObject], observed: ObservedAwx
) -> None:
    parent = KIND_OF[kind].parent
    filters: Json
    if not parent:
        filters = {"name__in": ",".join(one.name for one in ours)}
    elif parent == "organization":
        filters = {"organization": organization}
    else:
        parents = {resolve(observed, parent, one.fields.get(parent)) for one in ours} - {None}
        if not parents:
            return
        filters = {f"{parent}__in": ",".join(str(number) for number in sorted(parents, key=str))}
    listed = client.list(f"{kind}/", f"list its {kind.replace('_', ' ')}", **filters)
    for one in ours:
        for found in listed:
            same_parent = parent in ("", "organization") or found[parent] == resolve(
                observed, parent, one.fields.get(parent)
            )
            same_kind = kind != "credential_types" or found["kind"] == one.fields["kind"]
            if found["name"] == one.name and same_parent and same_kind:
                observed.objects[kind, one.name] = found
                observed.ids[kind, one.name] = int(found["id"])


def resolve(observed: ObservedAwx, field: str, name: t.Any) -> int | None:
    """Return the id of the object that a field names, None if it is not there (yet)."""
    return next(
        (number for kind in REFERENCES[field] if (number := observed.ids.get((kind, str(name)))) is not None), None
    )


def _read_parts(client: AwxClient, one: DesiredObject, observed: ObservedAwx) -> None:
    found = observed.objects[one.kind, one.name]
    path = f"{one.kind}/{found['id']}/"
    if one.survey is not None:
        observed.surveys[one.kind, one.name] = client.get(f"{path}survey_spec/", f"show the survey of {one.title}")
    for relation in one.links:
        if relation == "credentials":
            listed = (found.get("summary_fields") or {}).get("credentials") or []
        else:
            listed = client.list(f"{path}{relation}/", f"list the notifications of {one.title}")
        observed.linked[one.kind, one.name, relation] = {int(entry["id"]) for entry in listed}
    if one.nodes:
        listed = client.list(
            "workflow_job_template_nodes/", f"list the nodes of {one.title}", workflow_job_template=found["id"]
        )
        observed.nodes[one.name] = {str(node["identifier"]): node for node in listed}


def foreign_objects(
    desired: t.Iterable[DesiredObject], observed: ObservedAwx, organization: str, take_over: t.Container[str]
) -> list[str]:
    """Return the objects that have one of our names although something else made them, without those in `take_over` (as they are returned). Pure."""
    found = []
    for one in desired:
        there = observed.objects.get((one.kind, one.name))
        if there is None:
            continue
        if _is_elsewhere(one, there, observed, organization):
            found.append(f"{one.title} (of another organization)")
        elif not str(there.get("description") or "").endswith(MARK) and one.title not in take_over:
            found.append(one.title)
    return found


def _is_elsewhere(one: DesiredObject, there: Json, observed: ObservedAwx, organization: str) -> bool:
    """Return whether an object whose name counts in all of AWX belongs to another organization. AWX moves none."""
    ours = observed.ids.get(("organizations", organization))
    return "organization" in one.fields and there.get("organization", ours) != ours
