"""The verifier is a distribution of its own that needs little and works alone."""

import ast
import json
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from tests.verifier.served import SERVED, vectors_in

ROOT = Path(__file__).parents[2]
SOURCE, METADATA = ROOT / "src" / "hansa_verify", ROOT / "verify" / "pyproject.toml"
DEPENDENCIES_MAX = 2
ALONE = """
import importlib.util, json, sys
sys.path[:0] = sys.argv[1:3]
from hansa_verify import read_json, read_keys, verify_registry_card
from datetime import datetime
vector = json.load(sys.stdin)
at = datetime.fromisoformat(vector["at"])
print(verify_registry_card(vector["document"], read_keys(vector["keys"]), at=at).code)
print(sys.modules["hansa_verify"].__file__.startswith(sys.argv[1]), "hansa" in sys.modules)
"""


def project_of(file: Path) -> dict[str, object]:
    project: dict[str, object] = tomllib.loads(file.read_text())["project"]
    return project


def test_it_needs_what_it_imports_and_at_most_two_distributions():
    nodes = [node for file in SOURCE.glob("*.py") for node in ast.walk(ast.parse(file.read_text()))]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    packages = {name.partition(".")[0] for name in names} - {*sys.stdlib_module_names}
    project: Any = project_of(METADATA)
    declared = {Requirement(one).name for one in project["dependencies"]}
    extras = {Requirement(one).name for needed in project["optional-dependencies"].values() for one in needed}
    distributions = packages_distributions()
    assert {distributions[package][0] for package in packages} == declared | extras
    assert len(declared) <= DEPENDENCIES_MAX


def test_it_has_the_version_and_the_python_of_the_registry():
    own, registry = project_of(METADATA), project_of(ROOT / "pyproject.toml")
    assert (own["version"], own["requires-python"]) == (registry["version"], registry["requires-python"])


def test_it_is_built_from_the_checkout_and_verifies_a_card_without_the_registry(tmp_path: Path):
    # Without isolation: what builds it is installed here.
    build = ("-m", "pip", "-q", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path)
    ended = subprocess.run(
        [sys.executable, *build, METADATA.parent], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    (wheel,) = tmp_path.glob("hansa_verify-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        named = {
            name.removeprefix("hansa_verify/") for name in archive.namelist() if ".dist-info" not in name
        }
        archive.extractall(tmp_path / "alone")
    assert named == {file.name for file in SOURCE.iterdir() if file.is_file()}
    vector = next(one for one in vectors_in(SERVED) if one["kind"] == "registry_card")
    places = (tmp_path / "alone", sysconfig.get_path("purelib"))
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ALONE, *places],
        input=json.dumps(vector),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout.split() == ["verified", "True", "False"], ended.stderr
