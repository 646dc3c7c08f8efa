from __future__ import annotations

import json
import re
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.crds import (
    REVISION,
    REVISION_ANNOTATION,
    check_revision,
    custom_resource_definitions,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._api.schema_validator import complete
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused

DEFINITIONS = {definition["spec"]["names"]["kind"]: definition for definition in custom_resource_definitions()}


def schemas(schema: dict[str, t.Any], path: str) -> t.Iterator[tuple[str, dict[str, t.Any]]]:
    yield path, schema
    for name, field in schema.get("properties", {}).items():
        yield from schemas(field, f"{path}.{name}")
    if "items" in schema:
        yield from schemas(schema["items"], f"{path}[]")


ALL = [
    pytest.param(schema, id=path)
    for kind, definition in DEFINITIONS.items()
    for path, schema in schemas(definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"], kind)
]


@pytest.mark.parametrize("schema", ALL)
def test_every_field_is_structural_and_described(schema: dict[str, t.Any]) -> None:
    assert ("type" in schema) != ("x-kubernetes-int-or-string" in schema)
    if schema.get("type") == "object":
        assert ("properties" in schema) != ("additionalProperties" in schema)
    if schema.get("type") == "array":
        assert schema["maxItems"] > 0
    assert schema.get("description", "").endswith((".", ":")) or "description" not in schema
    if "enum" in schema:
        assert schema.get("default") in [None, *schema["enum"]]


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_every_property_has_a_description(kind: str) -> None:
    root = DEFINITIONS[kind]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for path, schema in schemas(root, kind):
        for name, field in schema.get("properties", {}).items():
            assert field.get("description"), f"{path}.{name}"


@pytest.mark.parametrize("schema", ALL)
def test_defaults_fit_their_own_schema(schema: dict[str, t.Any]) -> None:
    if "default" in schema:
        assert complete(schema, schema["default"], "default") == schema["default"]


@pytest.mark.parametrize(
    ("kind", "scope", "short"), [("OVNCluster", "Namespaced", "ovnc"), ("OVNChassis", "Cluster", "ovnch")]
)
def test_definition(kind: str, scope: str, short: str) -> None:
    spec = DEFINITIONS[kind]["spec"]
    assert (spec["group"], spec["scope"], spec["names"]["shortNames"]) == ("ovn.c5c3.io", scope, [short])
    version = spec["versions"][0]
    assert version["subresources"] == {"status": {}}
    assert "ownerReferences" not in DEFINITIONS[kind]["metadata"]


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_printer_columns_show_fields_that_exist(kind: str) -> None:
    version = DEFINITIONS[kind]["spec"]["versions"][0]
    known = {path for path, _schema in schemas(version["schema"]["openAPIV3Schema"], "")} | {
        ".metadata.creationTimestamp"
    }
    for column in version["additionalPrinterColumns"]:
        assert re.sub(r"\[\?.*\]", "[]", column["jsonPath"]) in known, column


def test_definitions_are_the_same_each_time() -> None:
    assert json.dumps(custom_resource_definitions()) == json.dumps(custom_resource_definitions())


def live(annotation: str | None) -> dict[str, t.Any]:
    annotations = {} if annotation is None else {REVISION_ANNOTATION: annotation}
    return {"metadata": {"name": "ovnclusters.ovn.c5c3.io", "annotations": annotations}}


@pytest.mark.parametrize("there", [None, live(None), live("0"), live(str(REVISION))])
def test_older_and_equal_definitions_are_replaced(there: dict[str, t.Any] | None) -> None:
    check_revision(there)


@pytest.mark.parametrize("revision", [str(REVISION + 1), "99", "2.0"])
def test_newer_definitions_stay(revision: str) -> None:
    with pytest.raises(
        Refused, match=rf"ovnclusters\.ovn\.c5c3\.io has schema revision {revision}.*Update the collection"
    ):
        check_revision(live(revision))
