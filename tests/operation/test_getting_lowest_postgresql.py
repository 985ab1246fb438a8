"""How the tests get the programs of the lowest supported PostgreSQL on a machine that has none.

`apt-get`, `apt-cache` and `dpkg` are stubs here, which record their calls and make the files that Debian's packages hold.
"""

import stat
from pathlib import Path

import pytest

from hansa.foundation.plumbing.storage.database import LOWEST_POSTGRESQL
from tests.operation.lowest_postgresql import (
    CACHE,
    CLUSTER_SETTINGS,
    PACKAGE,
    PROGRAMS,
    ROOTS_CACHE,
    NoServer,
    environment,
    get,
)

DEPENDS = f"""{PACKAGE}
  Depends: libc6
  Depends: libpq5
  Depends: tzdata
 |Depends: <libjit>
libc6
libpq5
tzdata
<libjit>
"""
PROGRAM = f"#!/bin/sh\necho 'postgres (PostgreSQL) {LOWEST_POSTGRESQL}.9'\n"
# What the package holds lies below $PACKAGE_FILES; where $UNREACHABLE is set, there is no network.
STUBS = {
    "apt-get": """
[ -z "$UNREACHABLE" ] || exit 100
case "$*" in
  *update) ;;
  *install*) cat "$ROOT/CLUSTER_SETTINGS" >> "$CALLS"; cp -R "$PACKAGE_FILES"/. "$ROOT" ;;
  *download*) shift 2; for name; do touch "${name}_1_amd64.deb"; done ;;
esac
""",
    "apt-cache": 'cat "$PACKAGE_FILES.depends"',
    "dpkg": 'case "$2" in */PACKAGE_*) cp -R "$PACKAGE_FILES"/. "$3" ;; esac',
}

Machine = dict[str, str]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """The environment of an account on such a machine; `ROOT` is the root of its files."""
    commands, files = tmp_path / "commands", tmp_path / "package"
    for folder in (commands, files / PROGRAMS, files / "usr/lib/x86_64-linux-gnu", tmp_path / "home"):
        folder.mkdir(parents=True)
    for name, script in STUBS.items():
        stub = script.replace("PACKAGE_*", f"{PACKAGE}_*").replace("CLUSTER_SETTINGS", str(CLUSTER_SETTINGS))
        make_program(commands / name, f'#!/bin/sh\necho "{name} $*" >> "$CALLS"\n{stub}\n')
    for name in ("postgres", "initdb"):
        make_program(files / PROGRAMS / name, PROGRAM)
    (tmp_path / "package.depends").write_text(DEPENDS)
    (tmp_path / "calls").touch()
    return {
        "PATH": f"{commands}:/usr/bin:/bin",
        "HOME": str(tmp_path / "home"),
        "ROOT": str(tmp_path / "root"),
        "CALLS": str(tmp_path / "calls"),
        "PACKAGE_FILES": str(files),
    }


def make_program(path: Path, script: str) -> None:
    path.write_text(script)
    path.chmod(0o755)


def calls(machine: Machine) -> list[str]:
    return Path(machine["CALLS"]).read_text().splitlines()


def test_root_installs_the_package_without_a_cluster_of_its_own(machine: Machine):
    root = Path(machine["ROOT"])
    assert get(machine, root, is_root=True) == root / PROGRAMS
    assert calls(machine) == [
        "apt-get -q update",
        f"apt-get -qy install --no-install-recommends {PACKAGE}",
        "create_main_cluster = false",
    ]
    assert get(machine, root, is_root=True) == root / PROGRAMS
    assert len(calls(machine)) == 3, "what is installed is not installed again"


def test_an_operators_settings_of_clusters_are_kept(machine: Machine):
    settings = Path(machine["ROOT"]) / CLUSTER_SETTINGS
    settings.parent.mkdir(parents=True)
    settings.write_text("data_directory = '/srv'\n")
    get(machine, Path(machine["ROOT"]), is_root=True)
    assert settings.read_text() == "data_directory = '/srv'\n"


def test_another_account_unpacks_the_package_and_its_libraries_in_its_home(machine: Machine):
    root, unpacked = Path(machine["ROOT"]), Path(machine["HOME"]) / CACHE / PACKAGE
    programs = get(machine, root, is_root=False)
    assert programs == unpacked / PROGRAMS
    assert environment(programs)["LD_LIBRARY_PATH"] == str(unpacked / "usr/lib/x86_64-linux-gnu")
    assert f"apt-get -q download libpq5 {PACKAGE}" in calls(machine)
    assert not any("install" in call or "update" in call for call in calls(machine))
    assert list(unpacked.parent.iterdir()) == [unpacked]
    made = len(calls(machine))
    assert get(machine, root, is_root=False) == programs
    assert len(calls(machine)) == made, "what is unpacked is not unpacked again"


def test_an_unpacked_package_that_lost_a_file_is_unpacked_anew(machine: Machine):
    programs = get(machine, Path(machine["ROOT"]), is_root=False)
    (programs / "initdb").unlink()
    assert get(machine, Path(machine["ROOT"]), is_root=False) == programs
    assert (programs / "initdb").exists()


def test_root_unpacks_where_every_account_can_reach_it_when_nothing_can_be_installed(machine: Machine):
    root = Path(machine["ROOT"])
    make_program(Path(machine["PATH"].split(":")[0]) / "cp", refusing_copies_to(root))
    programs = get(machine, root, is_root=True)
    assert programs == root / ROOTS_CACHE / PACKAGE / PROGRAMS
    assert stat.S_IMODE((root / ROOTS_CACHE / PACKAGE).stat().st_mode) == 0o755


def refusing_copies_to(root: Path) -> str:
    """A `cp` that copies everywhere but to the root of the file system."""
    return f'#!/bin/sh\n[ "$3" = "{root}" ] && exit 1\nexec /bin/cp "$@"\n'


@pytest.mark.parametrize("is_root", [True, False])
def test_without_a_network_the_package_is_asked_for_and_nothing_is_left(machine: Machine, is_root: bool):
    root = Path(machine["ROOT"])
    with pytest.raises(NoServer, match="install it, or set"):
        get({**machine, "UNREACHABLE": "yes"}, root, is_root=is_root)
    assert list((root / ROOTS_CACHE if is_root else Path(machine["HOME"]) / CACHE).iterdir()) == []
    assert get(machine, root, is_root=is_root).is_dir(), "the next time is not hindered by it"


def test_a_home_that_takes_no_files_is_named(machine: Machine):
    (Path(machine["HOME"]) / CACHE.parts[0]).touch()
    with pytest.raises(NoServer, match="cannot be unpacked"):
        get(machine, Path(machine["ROOT"]), is_root=False)
