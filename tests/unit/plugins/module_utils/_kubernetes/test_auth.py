"""The options of a connection are those of kubernetes.core."""

from __future__ import annotations

import copy
import types
from typing import Any

import pytest
import yaml

from ansible_collections.c5c3.ovn.plugins.doc_fragments._kubernetes_auth import ModuleDocFragment
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.auth import (
    AUTH_ARG_SPEC,
    check_options,
    credentials_of,
    hide_only_secrets,
)

upstream = pytest.importorskip("ansible_collections.kubernetes.core.plugins.module_utils.args_common")


def test_the_options_are_those_of_kubernetes_core() -> None:
    ours, theirs = copy.deepcopy(AUTH_ARG_SPEC), copy.deepcopy(upstream.AUTH_ARG_SPEC)
    # Newer releases hide only the secrets of a kubeconfig, as `hide_only_secrets` does.
    ours["kubeconfig"].pop("no_log")
    theirs["kubeconfig"].pop("no_log", None)
    assert ours == theirs


def test_the_documentation_has_the_same_options() -> None:
    def shape(options: dict[str, Any]) -> dict[str, Any]:
        return {
            name: (option.get("type", "str"), option.get("aliases", []), shape(option.get(nested) or {}))
            for name, option in options.items()
            for nested in ("options", "suboptions")
            if nested in option or not {"options", "suboptions"} & set(option)
        }

    documented = yaml.safe_load(ModuleDocFragment.DOCUMENTATION)["options"]
    assert shape(documented) == shape(AUTH_ARG_SPEC)


@pytest.mark.parametrize(
    ("params", "environment", "expected"),
    [
        ({"kubeconfig": "/k", "context": "c"}, {}, "kubeconfig /k, context c"),
        ({"kubeconfig": {"users": []}}, {}, "the given kubeconfig"),
        ({"host": "https://a:1"}, {}, "host https://a:1"),
        ({}, {}, "kubeconfig ~/.kube/config"),
        ({}, {"KUBECONFIG": "/a:/b"}, "kubeconfig /a:/b"),
        ({}, {"K8S_AUTH_KUBECONFIG": "/e"}, "kubeconfig /e"),
        ({"kubeconfig": None}, {"K8S_AUTH_HOST": "https://b"}, "host https://b"),
    ],
)
def test_messages_say_where_the_credentials_come_from(
    params: dict[str, Any], environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("KUBECONFIG", "K8S_AUTH_KUBECONFIG", "K8S_AUTH_HOST", "K8S_AUTH_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert credentials_of(params) == expected


@pytest.mark.parametrize("params", [{"kubeconfig": "/"}, {"context": "c"}, {"kubeconfig": {"users": []}, "host": ""}])
def test_two_api_servers_are_one_too_many(params: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("K8S_AUTH_HOST", "https://other")
    with pytest.raises(InvalidInput, match="https://other"):
        check_options(params)


@pytest.mark.parametrize("params", [{}, {"host": "https://a"}, {"host": "https://a", "kubeconfig": "/"}])
def test_one_api_server_is_fine(params: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("K8S_AUTH_HOST", "https://other")
    check_options(params)
    monkeypatch.delenv("K8S_AUTH_HOST")
    check_options({"kubeconfig": "/"})


def test_a_kubeconfig_that_does_not_exist() -> None:
    check_options({"kubeconfig": "/not/there:/"})
    with pytest.raises(InvalidInput, match="/not/there: no such file"):
        check_options({"kubeconfig": "/not/there"})


def test_of_a_kubeconfig_only_the_secrets_are_hidden() -> None:
    kubeconfig = {
        "apiVersion": "v1",
        "users": [{"name": "ovn", "user": {"token": "s3cret", "client-key-data": "a2V5"}}],
        "clusters": [{"name": "ovn", "cluster": {"server": "https://a"}}],
    }
    module: Any = types.SimpleNamespace(
        params={"kubeconfig": kubeconfig, "api_key": "key"},
        no_log_values={"v1", "ovn", "s3cret", "a2V5", "https://a", "key"},
    )
    hide_only_secrets(module)
    assert module.no_log_values == {"s3cret", "a2V5", "key"}


def test_the_path_of_a_kubeconfig_is_no_secret() -> None:
    module: Any = types.SimpleNamespace(params={"kubeconfig": "/k"}, no_log_values={"/k"})
    hide_only_secrets(module)
    assert module.no_log_values == set()
