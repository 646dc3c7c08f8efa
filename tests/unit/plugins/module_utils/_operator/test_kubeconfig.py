"""A kubeconfig in a Secret: what is usable, and what is refused."""

from __future__ import annotations

import base64
import re
import typing as t

import pytest
import yaml

from ansible_collections.c5c3.ovn.plugins.module_utils._api.hypervisor_clusters import KubeconfigSecret
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.kubeconfig import read_kubeconfig

REFERENCE = KubeconfigSecret(name="rack1", key="kubeconfig")
GOOD: dict[str, t.Any] = {
    "clusters": [{"name": "a", "cluster": {"server": "https://192.0.2.1", "certificate-authority-data": "QQ=="}}],
    "users": [{"name": "a", "user": {"token": "secret"}}],
}


def secret(content: t.Any) -> dict[str, t.Any]:
    text = content if isinstance(content, str) else yaml.safe_dump(content)
    return {"data": {"kubeconfig": base64.b64encode(text.encode()).decode()}}


def test_one_that_holds_everything_is_taken() -> None:
    assert read_kubeconfig(secret(GOOD), REFERENCE, "net") == GOOD


def user(**fields: t.Any) -> dict[str, t.Any]:
    return {**GOOD, "users": [{"name": "a", "user": fields}]}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, "Secret net/rack1 does not exist"),
        ({"data": {"value": "QQ=="}}, "has no key kubeconfig (its keys: value)"),
        ({}, "has no key kubeconfig (its keys: none)"),
        (secret(""), "has nothing in its key kubeconfig"),
        ({"data": {"kubeconfig": base64.b64encode(b"\xff").decode()}}, "cannot be read as YAML (UnicodeDecodeError)"),
        (secret("a: [b"), "cannot be read as YAML"),
        (secret("just a text"), "it names no clusters"),
        (secret({"users": []}), "it names no clusters"),
        (secret(user(exec={"command": "aws"})), "names exec: the operator runs no programs"),
        (secret(user(**{"auth-provider": {"name": "gcp"}})), "names auth-provider"),
        (secret(user(**{"client-key": "/a", "client-certificate": "/b"})), "names client-certificate, client-key"),
        (secret({**GOOD, "users": 7}), "clusters and users are not lists of mappings"),
        (secret({**GOOD, "clusters": ["a"]}), "clusters and users are not lists of mappings"),
        (
            secret({**GOOD, "clusters": [{"name": "a", "cluster": {"insecure-skip-tls-verify": True}}]}),
            "has insecure-skip-tls-verify",
        ),
        (secret(user(tokenFile="/var/run/secrets/kubernetes.io/serviceaccount/token")), "names tokenFile"),
        (
            secret({**GOOD, "clusters": [{"name": "a", "cluster": {"certificate-authority": "/etc/shadow"}}]}),
            "names certificate-authority",
        ),
    ],
)
def test_unusable_kubeconfig_is_reported(given: t.Any, told: str) -> None:
    with pytest.raises(OvnError, match=re.escape(told)) as error:
        read_kubeconfig(given, REFERENCE, "net")
    assert "secret" not in str(error.value).replace("Secret", "").replace("kubeconfigSecretRef", "").replace(
        "serviceaccount", ""
    )
