"""Names that the documents use and that the code has: settings, metrics, routes and commands."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer
from fastapi.routing import iter_route_contexts
from prometheus_client import Counter
from prometheus_client.metrics import MetricWrapperBase

from hansa.doors.commands.program import app
from hansa.doors.reference_map import empty_app, entrances
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.telemetry import metrics
from hansa.rooms.operations.metrics import exposition

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "guides"
MAP = ROOT / "docs" / "map.md"
PROSE = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(GUIDES.glob("*.md")))

_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")
_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
_METRIC = re.compile(r"\bhansa_[a-z_]+\b")
_METHOD_AND_PATH = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE) (/[^\s`,;)|]*)")
_CALLED = re.compile(r"\$(?:API|R)(/[^\s\"'|)]+)|\$REGISTRY(/[^\s\"'|)]+)")
_COMMAND = re.compile(r"(?:^|[\s/`($])hansa((?: [a-z][a-z0-9-]*)+)", re.MULTILINE)
_MAKE = re.compile(r"\bmake ([a-z][a-z-]*)")
_KEBAB = re.compile(r'"([a-z]+(?:-[a-z]+)+)"')
_STANDS_FOR_ANYTHING = re.compile(r"[{<$]|CODE|\.\.\.|…")


def code_in(text: str) -> str:
    """Return the code in a document: its blocks and the text between backquotes."""
    blocks = _BLOCK.findall(text)
    return "\n".join([*blocks, *_INLINE.findall(_BLOCK.sub("", text))])


@cache
def settings() -> frozenset[str]:
    """The variable of each setting."""
    return frozenset(
        str(field.validation_alias or name).upper() for name, field in Settings.model_fields.items()
    )


@cache
def words_of_the_code() -> frozenset[str]:
    """Every word with capitals and underscores that the source or the Makefile holds in a string, such as a variable or a code."""
    sources = [*(ROOT / "src").rglob("*.py"), ROOT / "Makefile", *(ROOT / "tests").rglob("*.py")]
    text = "\n".join(file.read_text() for file in sources)
    # The variable of a key is made of its name.
    keys = {f"HANSA_KEY_{name.upper().replace('-', '_')}" for name in _KEBAB.findall(text)}
    return frozenset(_VARIABLE.findall(text)) | keys


@cache
def metric_names() -> frozenset[str]:
    """The name of each metric as it is scraped, without the endings of a histogram."""
    found = [one for one in vars(metrics).values() if isinstance(one, MetricWrapperBase)]
    return frozenset(one._name + "_total" * isinstance(one, Counter) for one in found)


def metric_names_of_agents() -> frozenset[str]:
    """The name of each metric of one agent, in the form that Prometheus scrapes."""
    counters = {f"{exposition.PREFIX}{name}_total" for name in exposition.COUNTERS}
    return frozenset({*counters, exposition.SETTLE_SECONDS})


@cache
def routes() -> frozenset[tuple[str, str]]:
    """Method and path of every route; of a socket the method is empty."""
    with TemporaryDirectory() as directory:
        app = empty_app(Path(directory))
    sockets = {
        ("", str(one.path)) for one in iter_route_contexts(app.routes) if not getattr(one, "methods", None)
    }
    return frozenset((entrance.method, entrance.path) for entrance in entrances(app)) | sockets


@cache
def commands() -> frozenset[str]:
    """Every command that `hansa --help` shows, such as `db url`."""
    return frozenset(_commands_below(typer.main.get_command(app), ""))


def _commands_below(command: Any, path: str) -> Iterator[str]:
    children = getattr(command, "commands", None)
    if not children:
        yield path
        return
    for name, child in children.items():
        if not child.hidden:
            yield from _commands_below(child, f"{path} {name}".strip())


@cache
def make_targets() -> frozenset[str]:
    """The targets that `make help` lists."""
    return frozenset(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))


def variables_named(document: Path) -> set[str]:
    """Words in the form of a variable; those that a command of the document sets itself are left out."""
    code = code_in(document.read_text())
    own = {*re.findall(r"\b([A-Z][A-Z0-9_]*)=", code), "DATA_DIR"}
    return set(_VARIABLE.findall(code)) - (own - settings())


def metrics_named(document: Path) -> set[str]:
    return set(_METRIC.findall(code_in(document.read_text()))) - {
        "hansa_client",
        "hansa_verify",
        "hansa_intent",
    }


def routes_named(document: Path) -> set[tuple[str, str]]:
    """Method, or "" where none is said, and path as it is written."""
    text = document.read_text()
    code = code_in(text)
    found = {(method, path) for method, path in _METHOD_AND_PATH.findall(code)}
    found |= {("", "/api/v1" + below if below else path) for below, path in _CALLED.findall(code)}
    found |= {("", one.split()[0]) for one in _INLINE.findall(_BLOCK.sub("", text)) if one.startswith("/")}
    return {(method, path) for method, path in found if len(path) > 1}


def commands_named(document: Path) -> set[str]:
    """The words after `hansa` in code."""
    return {words.strip() for words in _COMMAND.findall(code_in(document.read_text()))}


def targets_named(document: Path) -> set[str]:
    return set(_MAKE.findall(code_in(document.read_text())))


def is_command(words: str) -> bool:
    """Return whether a command, or a group of commands, begins so; arguments in lower case may follow."""
    return any(
        words == known or words.startswith(known + " ") or known.startswith(words + " ")
        for known in commands()
    )


def is_route(method: str, path: str) -> bool:
    """Return whether a route has this path, with or without /api/v1; a part such as {id} or $ID stands for anything."""
    written = re.split(r"[?#]", path)[0].rstrip("/.:").removesuffix("/*")
    tries = {written, "/api/v1" + written}
    if path.endswith("/") or written == "/api/v1":
        return any(known.startswith(one + "/") or known == one for one in tries for _, known in routes())
    return any(
        (not method or method == known_method) and any(_is_same(one, known) for one in tries)
        for known_method, known in routes()
    )


def _is_same(written: str, known: str) -> bool:
    parts, known_parts = written.split("/"), known.rstrip("/").split("/")
    return len(parts) == len(known_parts) and all(
        part == other or other.startswith("{") or bool(_STANDS_FOR_ANYTHING.search(part))
        for part, other in zip(parts, known_parts, strict=True)
    )


def groups() -> set[str]:
    """Return the first part of the path of each route below /api/v1."""
    return {path.split("/")[3] for _, path in routes() if path.startswith("/api/v1/")}
