from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.c5c3.ovn.plugins.module_utils._precheck import cluster_findings

ROOT = Path(__file__).resolve().parents[5]


def test_the_page_explains_every_code_once_and_in_order() -> None:
    text = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    section = text.partition("\n## Precheck of Kubernetes\n")[2].partition("\n## ")[0]
    assert tuple(re.findall(r"^#### `(\w+)`$", section, re.MULTILINE)) == cluster_findings.CODES


def test_every_code_is_found_by_some_judgement_and_no_other_is() -> None:
    package = Path(cluster_findings.__file__).parent
    others = [
        path.read_text(encoding="utf-8")
        for path in package.glob("*.py")
        if path != Path(cluster_findings.__file__)
        and not path.name.startswith(("judge_", "from_hostvars", "report"))  # of machines
    ]
    used = {code for text in others for code in re.findall(r'(?:Finding\(\s*|code, step = )"(\w+)"', text)}
    assert used == set(cluster_findings.CODES)
