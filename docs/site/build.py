"""Build the documentation of this checkout: pages, examples, READMEs, and what modules, plugins and roles document.

`make docs` calls it. Sources are copied as they lie in the repository, so that links between them lead to the same files
here and there; a link that leads nowhere, or to a heading that does not exist, is an error.
Usage: build.py FOLDER    FOLDER/html/index.html is the front page
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(__file__).parent
BIN = Path(sys.executable).parent
# Everything that a page may link to.
SOURCES = ("*.md", "docs/*.md", "docs/*.svg", "docs/contributing/**/*.md", "roles/*/README.md", "examples/**/*")
SOURCES += ("molecule/README.md", "tests/testbed/README.md", "meta/*.txt", "awx/**/*.yml")
# The pages of the site alone, and where they go.
OWN = {"conf.py": "conf.py", "index.md": "index.md", "contributing.md": "docs/contributing/index.md"}


def copy_sources(source: Path) -> None:
    """Copy what the site consists of."""
    for path in sorted({path for pattern in SOURCES for path in ROOT.glob(pattern) if path.is_file()}):
        target = source / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    for name, target_name in OWN.items():
        shutil.copyfile(SITE / name, source / target_name)


def write_reference(folder: Path) -> None:
    """Write a page for each module, plugin and role. Only what `ansible-doc` of this checkout shows is documented."""
    folder.mkdir(mode=0o700)
    subprocess.run(
        [
            *(str(BIN / "antsibull-docs"), "collection", "--use-current", "--squash-hierarchy", "--fail-on-error"),
            *("--no-add-antsibull-docs-version", "--dest-dir", str(folder), "c5c3.ovn"),
        ],
        check=True,
        env=os.environ | {"PATH": os.pathsep.join([str(BIN), os.environ["PATH"]])},
    )


def main(folder: Path) -> None:
    source, html = folder / "source", folder / "html"
    shutil.rmtree(folder, ignore_errors=True)
    source.mkdir(parents=True)
    copy_sources(source)
    write_reference(source / "reference")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--builder", "html", "--jobs", "2"]
    command += ["--nitpicky", "--fail-on-warning", "--keep-going"]
    subprocess.run([*command, str(source), str(html)], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
