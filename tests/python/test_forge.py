"""Workflows, templates and hooks of the forge: valid YAML, existing jobs, files and commands, no host of a registry."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
import yaml
from conftest import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def read(path: Any) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow(path: Any) -> None:
    found = read(path)
    assert set(found) <= {"name", True, "permissions", "concurrency", "jobs"}, "YAML reads the key `on` as true"
    assert found["name"] == path.stem
    for name, job in found["jobs"].items():
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= set(found["jobs"]), name
        if "uses" in job:
            assert (ROOT / job["uses"]).exists()
            continue
        assert job["runs-on"], name
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step), step
            assert re.fullmatch(r"[\w.-]+/[\w./-]+@[\w./]+", step.get("uses", "a/b@v1"))
            for word in re.findall(r"\bmake ([a-z-]+)", step.get("run", "")):
                assert word in TARGETS, word
            for file in re.findall(r"(?:tools|tests)/[\w/.]+\.py", step.get("run", "")):
                assert (ROOT / file).exists(), file
        for command in job.get("strategy", {}).get("matrix", {}).get("make", []):
            assert command.split()[0] in TARGETS, command


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_issue_template(path: Any) -> None:
    found = read(path)
    if path.stem == "config":
        return
    assert found["name"]
    assert found["description"]
    assert all(field["type"] in ("textarea", "input") and field["attributes"]["label"] for field in found["body"])


def test_hooks_and_settings_are_read() -> None:
    hooks = read(ROOT / ".pre-commit-config.yaml")["repos"][0]["hooks"]
    for hook in hooks:
        for file in re.findall(r"tools/\w+\.py", hook["entry"]):
            assert (ROOT / file).exists(), file
    citation = read(ROOT / "CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert str(citation["date-released"]).startswith("20")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{citation['version']}]" in changelog
    assert (ROOT / "docs" / "releases" / f"{citation['version']}.md").exists()
    assert tomllib.loads((ROOT / "rust-toolchain.toml").read_text())["toolchain"] == {"channel": "stable"}
    assert "MIT" in tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"]


def test_guides_are_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"[\w/.-]+\.md", text))
    assert {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")} <= listed
    assert "font: false" in text, "the site fetches nothing"
    for page in (ROOT / "docs" / "how-to").glob("*.md"):
        assert f"({page.name})" in (page.parent / "index.md").read_text(encoding="utf-8") or page.stem == "index"
