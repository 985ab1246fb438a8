"""The client is a distribution of its own that needs little and works alone."""

import subprocess
import tomllib
from pathlib import Path

from tests.client.clean_environment import METADATA, ROOT, declared

# A paid service brings the framework, or the shared store, that it chose; a caller with httpx brings httpx.
NO_SERVER = """
import importlib, importlib.util, pkgutil, hansa_client
for module in pkgutil.walk_packages(hansa_client.__path__, "hansa_client."):
    if not module.name.startswith(("hansa_client.service.", "hansa_client.pay.httpx_transport")):
        importlib.import_module(module.name)
print([name for name in ("hansa", "fastapi", "asyncpg", "a2a") if importlib.util.find_spec(name)])
"""


def test_it_has_at_most_six_dependencies():
    assert len(declared()) <= 6


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
