"""Environment with the client's own distribution, its declared requirements, extras that are named, and nothing else."""

import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
METADATA = ROOT / "client" / "pyproject.toml"
# Made from the same versions that are installed here, so that nothing is downloaded.
INSTALLED = Path(sysconfig.get_path("purelib"))


# Made from the checkout; here they are links to it.
OWN = {"hansa-client": "client", "hansa-verify": "verify"}

# Their frameworks have environments of their own: tests/agent_frameworks.
OF_FRAMEWORKS = frozenset({"crewai", "langchain", "openai-agents", "pydantic-ai"})


def declared() -> list[Requirement]:
    """Return the requirements of the client's distribution from elsewhere."""
    projects = [
        tomllib.loads((ROOT / name / "pyproject.toml").read_text())["project"] for name in OWN.values()
    ]
    wanted = [Requirement(one) for project in projects for one in project["dependencies"]]
    return list(dict.fromkeys(one for one in wanted if one.name not in OWN))


def extras(*names: str) -> list[Requirement]:
    """Return the requirements of these extras of the client's distribution; none named: of all whose packages are installed here."""
    optional = tomllib.loads(METADATA.read_text())["project"]["optional-dependencies"]
    chosen = names or sorted(optional.keys() - OF_FRAMEWORKS)
    return [Requirement(text) for name in chosen for text in optional[name]]


def make(directory: Path, *more: Requirement) -> Path:
    """Make the environment, with these distributions too; returns its directory of programs."""
    programs = make_with_dependencies(directory, *more)
    wheels = directory / "wheels"
    # Without isolation: what builds it is installed here.
    sources = [str(ROOT / name) for name in OWN.values()]
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels), *sources)
    add_wheels(programs, *wheels.glob("*.whl"))
    return programs


def add_wheels(programs: Path, *wheels: Path) -> None:
    """Install wheels into an environment that has what they need."""
    assert wheels
    pip("--python", str(programs / "python"), "install", "--no-deps", "--no-index", *map(str, wheels))


def make_with_dependencies(directory: Path, *more: Requirement) -> Path:
    """The environment without the client's own distribution; returns its directory of programs."""
    return make_of(directory, [*declared(), *more])


def make_of(directory: Path, wanted: list[Requirement]) -> Path:
    """An environment of these distributions and of what they need, without our own; returns its directory of programs."""
    venv.create(directory, symlinks=True)
    (site,) = directory.glob("lib/python*/site-packages")
    for name in sorted(_closure(wanted)):
        for entry in _entries(name):
            target = site / entry
            if not target.exists():
                target.symlink_to(INSTALLED / entry)
    return directory / "bin"


def _closure(wanted: list[Requirement]) -> set[str]:
    found: set[str] = set()
    waiting = [(one.name, frozenset(one.extras)) for one in wanted]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen or name in OWN:
            continue
        seen.add((name, extras))
        try:
            requires = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        found.add(name)
        for text in requires:
            one = Requirement(text)
            if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
                waiting.append((one.name, frozenset(one.extras)))
    return found


def _entries(name: str) -> Iterator[str]:
    files = distribution(name).files or []
    yield from sorted({file.parts[0] for file in files} - {"..", "__pycache__"})


def pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
