"""The synchronous client is the asynchronous one without `async`: one source, no second one by hand.

`python -m tests.house.synchronous` writes, for each package `asynchronous` of `hansa_client`, its neighbour `synchronous`; a
test holds the two together. Names that begin with `Async` or `async_` lose that prefix; `hansa_client/primitives.py` has the
few things that need two forms.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

CLIENT = Path(__file__).parents[2] / "src" / "hansa_client"
ASYNCHRONOUS, SYNCHRONOUS = "asynchronous", "synchronous"
MARK = "# Generated from {source} by `python -m tests.house.synchronous`.\n"

RULES = (
    (re.compile(r"\basync (?=def|with|for\b)"), ""),
    (re.compile(r"\bawait "), ""),
    (re.compile(r"\bStopAsyncIteration\b"), "StopIteration"),
    (re.compile(r"\b__a(?=(?:enter|exit|iter|next)__)"), "__"),
    (re.compile(r"\ba(?=(?:close|read|iter_\w+|next|iter)\()"), ""),
    (re.compile(r"\b(_?)Async(?=[A-Z])"), r"\1"),
    (re.compile(r"\b(_?)async_(?=[a-z])"), r"\1"),
    (re.compile(r"\basynccontextmanager\b"), "contextmanager"),
    (re.compile(rf"\b{ASYNCHRONOUS}\b"), SYNCHRONOUS),
)
# A sentence about the source of the generated package.
OF_THE_SOURCE = re.compile(r" `hansa_client/\w+` is generated from this package\.")


def sources(client: Path) -> Iterator[Path]:
    """Every module that has a generated counterpart."""
    for package in sorted(client.rglob(ASYNCHRONOUS)):
        yield from sorted(package.rglob("*.py"))


def counterpart(source: Path) -> Path:
    """Return the path of the synchronous form of a module."""
    parts = [SYNCHRONOUS if part == ASYNCHRONOUS else part for part in source.parts]
    return Path(*parts)


def drawn(source: Path, client: Path = CLIENT) -> str:
    """The synchronous form of a module, as the formatter leaves it."""
    text = OF_THE_SOURCE.sub("", source.read_text())
    for pattern, replacement in RULES:
        text = pattern.sub(replacement, text)
    text = MARK.format(source=source.relative_to(client.parent).as_posix()) + text
    name = ["--stdin-filename", str(counterpart(source))]
    sorted_imports = _ruff(["check", "--select", "I", "--fix", "--quiet", *name, "-"], text)
    return _ruff(["format", "--quiet", *name, "-"], sorted_imports)


def stale(client: Path) -> list[str]:
    """Generated modules that are missing, differ from their source or have none."""
    expected = {counterpart(source): drawn(source, client) for source in sources(client)}
    found = {
        file: file.read_text() for package in client.rglob(SYNCHRONOUS) for file in package.rglob("*.py")
    }
    return sorted(
        str(file.relative_to(client)) for file in expected | found if expected.get(file) != found.get(file)
    )


def write(client: Path) -> None:
    """Generate every counterpart, and delete those without a source."""
    expected = {counterpart(source): drawn(source, client) for source in sources(client)}
    for file, text in expected.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for package in client.rglob(SYNCHRONOUS):
        for file in package.rglob("*.py"):
            if file not in expected:
                file.unlink()


def _ruff(arguments: list[str], text: str) -> str:
    command = [sys.executable, "-m", "ruff", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    write(CLIENT)
