"""A copy of the PostgreSQL programs that the server's account can execute, for a service that runs as root.

- Needed where the environment lies below a closed directory, or was installed under a strict umask.
- A copy belongs to root, is writable by nobody else, and is named by the version and the digest of its content.
- It appears under its name only when it is complete; services that start together share it.
- A copy counts only when the account has executed the server in it: a file system may be mounted noexec.
"""

import os
import secrets
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from . import binaries
from .account import ServerAccount
from .errors import EmbeddedPostgresFailed

# The first that serves; what cleans up temporary directories may take a copy away, so these come later.
PLACES = ("/var/cache", "/var/lib", "/opt", "/var/tmp", "/tmp", "/run", "/dev/shm")  # noqa: S108
FOLDER_NAME = "hansa-postgres"
PROGRAMS = ("postgres", "initdb")
FOLDER_MODE, PROGRAM_MODE, FILE_MODE = 0o755, 0o755, 0o644
PROBE_SECONDS = 30


def programs_for(account: ServerAccount, data_dir: Path) -> Path:
    """The folder with `postgres` and `initdb` that this account can execute.

    Raises: EmbeddedPostgresFailed when no place takes a copy.
    """
    installed = binaries.installed()
    if account.is_own or _executes(account, installed):
        return installed / "bin"
    name = f"{binaries.version()}-{binaries.digest()}"
    tried = []
    for place in _places(data_dir):
        try:
            copy = _copy_in(place / FOLDER_NAME, name, installed)
        except OSError as error:
            tried.append(f"{place} ({error.strerror or error})")
            continue
        copied = copy / installed.relative_to(_site(installed))
        if _executes(account, copied):
            return copied / "bin"
        tried.append(f"{place} (the account cannot execute files there)")
    raise EmbeddedPostgresFailed(
        f"The account with user id {account.uid} cannot execute the PostgreSQL programs in {installed}, and no place takes a copy: "
        f"{', '.join(tried)}; free one of them, or set DATABASE_URL."
    )


def _places(data_dir: Path) -> Iterator[Path]:
    seen: set[Path] = set()
    for place in (*map(Path, PLACES), Path(tempfile.gettempdir()), data_dir):
        if place.is_dir() and place not in seen:
            seen.add(place)
            yield place


def _executes(account: ServerAccount, folder: Path) -> bool:
    """Return whether the account can run the server there; its shared files have the same permissions."""
    sample = folder / "share" / "postgresql.conf.sample"
    asked = '"$0" --version && test -r "$1"'
    ended = subprocess.run(  # noqa: S603
        account.command(Path("/bin/sh"), "-c", asked, str(folder / "bin" / "postgres"), str(sample)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        timeout=PROBE_SECONDS,
        check=False,
    )
    return ended.returncode == 0


def _copy_in(parent: Path, name: str, installed: Path) -> Path:
    """The complete copy in `parent`, made now where there is none. Raises: OSError."""
    _own_folder(parent)
    copy = parent / name
    if not _is_complete(copy, installed):
        _set_aside(copy)
        fresh = parent / f"{name}.{secrets.token_hex(4)}"
        try:
            _write_copy(installed, fresh)
            with suppress(FileExistsError):
                _rename(fresh, copy)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return copy


def _own_folder(folder: Path) -> None:
    """Make the folder; one that somebody else made in a shared directory is not used. Raises: OSError."""
    with suppress(FileExistsError):
        folder.mkdir()
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise PermissionError(f"{folder} belongs to another account")
    folder.chmod(FOLDER_MODE)


def _rename(fresh: Path, copy: Path) -> None:
    try:
        fresh.rename(copy)
    except OSError as error:
        # Another service was first with the same content.
        if not copy.is_dir():
            raise
        raise FileExistsError(str(copy)) from error


def _set_aside(copy: Path) -> None:
    """Remove a copy that lost files; a server that runs from it keeps its open files."""
    if copy.exists():
        remains = copy.with_name(f"{copy.name}.{secrets.token_hex(4)}")
        with suppress(FileNotFoundError):
            copy.rename(remains)
        shutil.rmtree(remains, ignore_errors=True)


def _write_copy(installed: Path, fresh: Path) -> None:
    fresh.mkdir()
    fresh.chmod(FOLDER_MODE)
    for source in _listed(installed):
        target = fresh / source.relative_to(_site(installed))
        for folder in reversed(target.relative_to(fresh).parents):
            with suppress(FileExistsError):
                (fresh / folder).mkdir()
                (fresh / folder).chmod(FOLDER_MODE)
        shutil.copyfile(source, target)
        target.chmod(PROGRAM_MODE if source.parent.name == "bin" else FILE_MODE)


def _is_complete(copy: Path, installed: Path) -> bool:
    # After a power failure a file that was not yet on the disk is too short: nothing was synced, which may take minutes.
    for source in _listed(installed):
        try:
            found = (copy / source.relative_to(_site(installed))).lstat()
        except FileNotFoundError:
            return False
        if found.st_uid != os.geteuid() or found.st_size != source.stat().st_size:
            return False
    return True


def _listed(installed: Path) -> list[Path]:
    """The files that a server needs, as paths in the package and beside it."""
    folders = [installed / "lib", installed / "share", *binaries.libraries(installed)]
    files = (path for folder in folders for path in sorted(folder.rglob("*")))
    return [
        *(installed / "bin" / program for program in PROGRAMS),
        *(path for path in files if path.suffix != ".a" and path.is_file()),
    ]


def _site(installed: Path) -> Path:
    """Return the directory to which the programs' references to their libraries are relative."""
    return installed.parents[1]
