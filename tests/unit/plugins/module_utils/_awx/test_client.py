"""Errors of AWX in one line."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._awx.client import AwxClient, explain


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ({"detail": "no permission"}, "no permission"),
        ({"playbook": ["not found", "at all"], "name": ["twice"]}, "playbook: not found at all; name: twice"),
        ({"__all__": ["exists"]}, "exists"),
        (["a", "b"], "a b"),
        ("text\n  of a page", "text of a page"),
    ],
)
def test_what_awx_explains(body: t.Any, line: str) -> None:
    assert explain(body) == line


@pytest.mark.parametrize(
    ("host", "url"),
    [("awx.example.com", "https://awx.example.com"), ("http://awx:8080/", "http://awx:8080")],
)
def test_a_host_is_a_url(host: str, url: str) -> None:
    assert AwxClient(host, token="t").host == url
