"""Templates of projects: files of this package that no request changes.

A project has the files of its parts. Each file is stored under its name with `.txt` behind it: a template is no module of the registry.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

TEMPLATES = Path(__file__).with_name("templates")
SUFFIX = ".txt"
PARTS: Mapping[str, tuple[str, ...]] = {
    "simple_wrapper": ("every_type", "a2a", "simple_wrapper"),
    "adk_agent": ("every_type", "a2a", "adk_agent"),
    "paid_function": ("every_type", "a2a", "paid_function"),
    "mcp_server": ("every_type", "mcp_server"),
}
"""Directories of each type; no file is in two of them."""

REGISTRY_ADDRESS = b"https://registry.invalid"
"""Address in templates that stands for that of the registry."""


@cache
def template_files(builder_type: str, registry_url: str) -> Mapping[str, bytes]:
    """The files of a type of agent, by their names in the project."""
    found: dict[str, bytes] = {}
    for part in PARTS[builder_type]:
        directory = TEMPLATES / part
        for file in directory.rglob(f"*{SUFFIX}"):
            name = file.relative_to(directory).as_posix().removesuffix(SUFFIX)
            assert name not in found, name
            found[name] = file.read_bytes().replace(REGISTRY_ADDRESS, registry_url.encode())
    return found
