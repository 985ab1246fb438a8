"""Modules that a reader opens to follow one act, by the names that each module imports."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"


def modules_followed(start: str, *, within: tuple[str, ...]) -> frozenset[str]:
    """Return `start` and each module below a prefix of `within` that defines a name used on the path from it."""
    followed: set[str] = set()
    waiting = [start]
    while waiting:
        module = waiting.pop()
        if module not in followed and module.startswith(within):
            followed.add(module)
            waiting += _definers(module)
    return frozenset(followed)


@cache
def _file_of(module: str) -> Path | None:
    path = SOURCE.joinpath(*module.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if file.exists()), None)


@cache
def _imports(module: str) -> dict[str, tuple[str, str]]:
    """Return the module and the name behind each imported name of `module`."""
    package = module.split(".") if _is_package(module) else module.split(".")[:-1]
    return {
        alias.asname or alias.name: (_absolute(package, node), alias.name)
        for node in ast.walk(_tree(module))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def _absolute(package: list[str], node: ast.ImportFrom) -> str:
    base = package[: len(package) - node.level + 1] if node.level else []
    return ".".join([*base, *([node.module] if node.module else [])])


def _tree(module: str) -> ast.Module:
    file = _file_of(module)
    return ast.parse(file.read_text() if file else "")


def _is_package(module: str) -> bool:
    file = _file_of(module)
    return file is not None and file.name == "__init__.py"


def _definers(module: str) -> Iterator[str]:
    """Yield the modules that define the names that `module` uses; a package that exports a name is passed through."""
    members = [
        (node.value.id, node.attr)
        for node in ast.walk(_tree(module))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    ]
    for local, (owner, name) in _imports(module).items():
        target = f"{owner}.{name}"
        if not _is_package(target):
            yield _definer(owner, name)
            continue
        yield from (_definer(target, attribute) for value, attribute in members if value == local)


def _definer(module: str, name: str) -> str:
    if _file_of(f"{module}.{name}"):
        return f"{module}.{name}"
    exported = _imports(module).get(name)
    return _definer(*exported) if exported and _is_package(module) else module
