"""The client is a distribution of its own that needs little and works alone."""

import ast
import subprocess
import sys
import tomllib
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

from packaging.requirements import Requirement

from tests.client.clean_environment import METADATA, OF_FRAMEWORKS, ROOT, declared, extras

# A paid service brings the framework, or the shared store, that it chose; a caller with httpx brings httpx.
NO_SERVER = """
import importlib, importlib.util, pkgutil, hansa_client
for module in pkgutil.walk_packages(hansa_client.__path__, "hansa_client."):
    if not module.name.startswith(("hansa_client.service.", "hansa_client.pay.httpx_transport")):
        importlib.import_module(module.name)
print([name for name in ("hansa", "fastapi", "asyncpg", "a2a") if importlib.util.find_spec(name)])
"""

# What a dependency's own interface takes, and therefore brings.
OF_A_DEPENDENCY = {"yarl": "aiohttp"}
# Frameworks of agents that buy, by the packages that are imported; they are installed elsewhere.
FRAMEWORKS = {
    "agents": "openai-agents",
    "crewai": "crewai",
    "langchain_core": "langchain-core",
    "pydantic_ai": "pydantic-ai-slim",
}


def test_it_has_at_most_six_dependencies():
    assert len(declared()) <= 6


def imported() -> set[str]:
    """Return the distributions that its modules import anywhere, also inside functions."""
    nodes = [
        node
        for file in (ROOT / "src" / "hansa_client").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
    ]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    packages = {name.partition(".")[0] for name in names} - {*sys.stdlib_module_names}
    own = {"hansa_client", "hansa_verify"}
    # It reads the names of every distribution anew.
    distributions = packages_distributions()
    return {FRAMEWORKS.get(package) or distributions[package][0] for package in packages - own}


def test_whatever_it_imports_is_a_dependency_or_belongs_to_an_extra():
    stated = {one.name for one in [*declared(), *extras(), *extras(*OF_FRAMEWORKS)]}
    assert imported() - {*OF_A_DEPENDENCY} <= stated
    for name, dependency in OF_A_DEPENDENCY.items():
        assert name in {Requirement(one).name for one in distribution(dependency).requires or []}


def test_the_extras_admit_the_versions_that_are_tested_here():
    refused = [str(one) for one in extras() if distribution(one.name).version not in one.specifier]
    assert refused == []
    provided = {
        name for one in extras() for name in distribution(one.name).metadata.get_all("Provides-Extra", [])
    }
    assert {extra for one in extras() for extra in one.extras} <= provided


def test_it_has_the_version_and_the_python_of_the_server():
    own, server = (tomllib.loads(file.read_text())["project"] for file in (METADATA, ROOT / "pyproject.toml"))
    assert (own["version"], own["requires-python"]) == (server["version"], server["requires-python"])


def test_every_module_of_it_is_imported_without_the_server(programs: Path):
    ended = subprocess.run(
        [programs / "python", "-I", "-W", "ignore", "-c", NO_SERVER],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.stdout, ended.stderr) == ("[]\n", "")


def test_it_says_that_it_is_typed(programs: Path):
    (marker,) = programs.parent.glob("lib/python*/site-packages/hansa_client/py.typed")
    assert marker.is_file()
