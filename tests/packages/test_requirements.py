"""One source of truth for versions: what the distributions ask for, what is tested, and what a release pins."""

import re
import subprocess
import sys

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.packages.release_files import PROJECTS, RELEASE, ROOT, project_of

PROJECT = project_of()
OWN = {"hansa-client", "hansa-verify"}
REQUIREMENTS = [Requirement(one) for one in PROJECT["dependencies"]]
LOCKED = {
    Requirement(line).name: Version(next(iter(Requirement(line).specifier)).version)
    for line in RELEASE["constraints"](RELEASE["LOCKED_FILE"].read_text()).splitlines()
}
FROM_ELSEWHERE = [one for one in REQUIREMENTS if one.name not in OWN]


@pytest.mark.parametrize("requirement", FROM_ELSEWHERE, ids=lambda one: one.name)
def test_each_requirement_has_both_bounds_and_admits_the_version_that_is_tested(requirement: Requirement):
    operators = {one.operator for one in requirement.specifier}
    assert operators in ({">=", "<"}, {"=="}), (
        f"{requirement}: state the lowest and the first refused version"
    )
    tested = LOCKED[requirement.name]
    assert tested in requirement.specifier
    for one in requirement.specifier:
        # A lowest version that no test has seen is a promise that nobody keeps.
        assert one.operator != ">=" or Version(one.version).release[:2] == tested.release[:2], requirement


def test_the_tested_versions_satisfy_every_requirement_of_each_other():
    checked = subprocess.run(
        [sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_lock_file_is_made_from_the_same_names():
    lines = (ROOT / "requirements" / "service.in").read_text().split()
    named = {Requirement(line).name: Requirement(line).extras for line in lines}
    assert named == {one.name: one.extras for one in FROM_ELSEWHERE}


def test_the_constraints_have_each_version_of_the_lock_file_and_no_other():
    text = RELEASE["LOCKED_FILE"].read_text()
    stated = [line.removesuffix(" \\") for line in text.splitlines() if re.match(r"[a-z]", line)]
    assert RELEASE["constraints"](text).splitlines() == stated
    assert len(stated) > 80


@pytest.mark.parametrize("name", sorted(OWN))
def test_the_distributions_of_one_version_need_each_other_exactly(name: str):
    needed = [str(one) for one in REQUIREMENTS if one.name == name]
    assert needed == [f"{name}=={PROJECT['version']}"]
    client = project_of("client")
    assert f"hansa-verify=={PROJECT['version']}" in client["dependencies"]
    assert {project_of(place)["version"] for place in ("client", "verify")} == {PROJECT["version"]}


def test_no_program_belongs_to_two_distributions():
    programs = [name for place in PROJECTS for name in project_of(*place).get("scripts", {})]
    assert sorted(programs) == ["hansa", "hansa-client"]


@pytest.mark.parametrize(
    ("extra", "guide"),
    [
        ("spire", "join-a-federation.md"),
        ("pkcs11", "keys.md"),
        ("archive", "backups.md"),
        ("nats", "journal.md"),
    ],
)
def test_a_guide_names_the_packages_of_an_extra_with_its_bounds(extra: str, guide: str):
    text = (ROOT / "docs" / "guides" / guide).read_text()
    [stated] = re.findall(r"/opt/hansa/.venv/bin/python -m pip install '([^']+)'", text)
    [declared] = PROJECT["optional-dependencies"][extra]
    assert Requirement(stated) == Requirement(declared)


def test_no_guide_and_no_error_asks_an_index_for_a_distribution_of_this_project():
    """The names are not reserved at an index: whoever registers them would be run."""
    asked = re.compile(
        r"(?:pip|pipx|uv) [\w -]*(?:install|run) [^\n`]*?['\" ]hansa(?:-client|-verify)?(?:\[[a-z0-9,]+\])?['\"`\n ](?! *@)"
    )
    texts = [*(ROOT / "docs" / "guides").glob("*.md"), ROOT / "README.md", *(ROOT / "src").rglob("*.py")]
    found = {str(path): asked.findall(path.read_text()) for path in texts}
    assert {path: lines for path, lines in found.items() if lines} == {}
    assert asked.search("pip install 'hansa[spire]'")
