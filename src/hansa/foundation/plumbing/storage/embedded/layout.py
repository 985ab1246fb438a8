"""Layout of the data directory, and the address that follows from it."""

import hashlib
import os
import tempfile
from pathlib import Path
from urllib.parse import quote

import msgspec

ROLE = "hansa"
DATABASE = "hansa"
PORT = 5432
SOCKET_NAME = f".s.PGSQL.{PORT}"

# The kernel's limit is 108 bytes on Linux and 104 on macOS; clients differ in counting the final zero.
SOCKET_PATH_MAX_BYTES = 100


class Layout(msgspec.Struct, frozen=True):
    """Paths of one data directory; `data_dir` is absolute and without links."""

    data_dir: Path

    @classmethod
    def of(cls, data_dir: Path) -> "Layout":
        return cls(data_dir.expanduser().resolve())

    @property
    def cluster(self) -> Path:
        return self.data_dir / "postgres"

    @property
    def claim(self) -> Path:
        return self.data_dir / "lock"

    @property
    def log(self) -> Path:
        return self.data_dir / "postgres.log"

    @property
    def password(self) -> Path:
        return self.data_dir / "keys" / "database-password"

    @property
    def socket_is_inside(self) -> bool:
        return _fits_a_socket(self.data_dir / "postgres.socket")

    @property
    def socket_directory(self) -> Path:
        if self.socket_is_inside:
            return self.data_dir / "postgres.socket"
        name = f"hansa-{hashlib.sha256(os.fsencode(self.data_dir)).hexdigest()[:16]}"
        temporary = Path(tempfile.gettempdir()).resolve() / name
        return temporary if _fits_a_socket(temporary) else Path("/tmp").resolve() / name  # noqa: S108


def _fits_a_socket(directory: Path) -> bool:
    return len(os.fsencode(directory / SOCKET_NAME)) <= SOCKET_PATH_MAX_BYTES


def dsn(password: str, socket_directory: Path, port: int = PORT) -> str:
    # The port is spelled out: clients would otherwise take it from PGPORT.
    host = quote(os.fsencode(socket_directory), safe="/")
    return f"postgresql://{ROLE}:{quote(password, safe='')}@/{DATABASE}?host={host}&port={port}"
