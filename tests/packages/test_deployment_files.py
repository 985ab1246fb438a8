"""The files of Compose and of the release by their schemas, and the SBOM by what is installed."""

import re
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest

from tests.packages.release_files import ROOT
from tests.packages.tools import TOOLS, bill_of_materials, schema_errors

COMPOSE = [ROOT / "deploy" / "compose.yaml", ROOT / "deploy" / "federation" / "compose.yaml"]
WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"
PUBLIC_HOSTS = {"ghcr.io"}


@pytest.fixture(scope="module", autouse=True)
def tools() -> None:
    TOOLS.ready()


@pytest.mark.parametrize("file", COMPOSE, ids=lambda file: file.parent.name)
def test_a_compose_file_has_the_form_of_its_specification(file: Path):
    assert schema_errors("vendor.compose-spec", file) == ""


def test_a_compose_file_with_a_wrong_member_is_refused(tmp_path: Path):
    wrong = tmp_path / "compose.yaml"
    wrong.write_text(COMPOSE[0].read_text().replace("read_only: true", "readonly: true"))
    assert "readonly" in schema_errors("vendor.compose-spec", wrong)


def test_the_workflow_of_a_release_has_its_form_and_names_no_private_host():
    assert schema_errors("vendor.github-workflows", WORKFLOW) == ""
    hosts = set(
        re.findall(r"\b((?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|internal|local|lan))\b", WORKFLOW.read_text())
    )
    assert hosts <= PUBLIC_HOSTS


def test_each_target_that_the_workflow_makes_exists():
    targets = re.findall(r"run: make ([a-z-]+)", WORKFLOW.read_text())
    assert targets
    for target in targets:
        planned = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, check=False)
        assert planned.returncode == 0, planned.stderr


def test_the_sbom_has_every_installed_package_with_its_version(tmp_path: Path):
    document = bill_of_materials(Path(sys.prefix), ROOT / "pyproject.toml", tmp_path / "sbom.json")
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    stated = {normal(one["name"]): one["version"] for one in document["components"]}
    installed = {normal(one.metadata["Name"]): one.version for one in distributions()}
    main = normal(document["metadata"]["component"]["name"])
    assert {name: version for name, version in installed.items() if name != main} == stated


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
