"""The file of a backup: a tar archive of compressed pieces of tables, then a manifest with their digests, then the keys.

The manifest comes last but for the keys, because a table's digest and length are known once it was read. The keys are
encrypted and bound to the manifest: with them in the file, nothing in it can be altered on purpose unseen. A digest of
the whole file ends it, for damage of any kind.
"""

import fcntl
import gzip
import json
import os
import re
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from pydantic import ConfigDict, ValidationError

from hansa.foundation.values.lazy_model import LazyModel

FORMAT = "hansa-backup-1"
MANIFEST, KEYS = "manifest.json", "keys.json"
PIECE_BYTES = 4 << 20
PIECE_MAX_BYTES = 1 << 30
SMALL_MAX_BYTES = 16 << 20
COMPRESSION = 1
TRAILER_BYTES = len(FORMAT) + 1 + 64 + 1
_END = re.compile(rb"%b [0-9a-f]{64}\n" % FORMAT.encode())


class BadBackup(Exception):
    """The file is not a whole, unaltered backup; the message is one line."""


class Position(LazyModel):
    """Content of the backup: everything that was acknowledged before `taken_at`, and before `lsn` was written."""

    taken_at: str
    lsn: str
    journal_sequence: int


class Table(LazyModel):
    """The content of one table, in PostgreSQL's text format."""

    columns: list[str]
    rows: int
    bytes: int
    sha256: str


class Manifest(LazyModel):
    """Content of the file."""

    model_config = ConfigDict(extra="forbid")

    format: str
    version: str
    schema_revision: str
    registry_name: str
    trust_domain: str
    position: Position
    journal_months: list[str]
    tables: dict[str, Table]
    sequences: dict[str, int]
    has_keys: bool


class _Hashed:
    """A file whose content is hashed as it is written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = sha256()

    def write(self, content: bytes) -> int:
        self.digest.update(content)
        return self._file.write(content)


class Writer:
    """Writes one backup, a piece of a table at a time."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hashed = _Hashed(file)
        self._tar = tarfile.open(fileobj=self._hashed, mode="w|", format=tarfile.PAX_FORMAT)  # type: ignore[call-overload]  # noqa: SIM115
        self._pieces = 0

    def piece(self, table: str, content: bytes) -> None:
        """Add a piece of the table that is being written."""
        self._pieces += 1
        self._add(f"{table}/{self._pieces:08}.gz", gzip.compress(content, COMPRESSION, mtime=0))

    def finish(self, manifest: bytes, keys: bytes | None) -> None:
        """Add the manifest, the keys and the trailer, which complete the file."""
        self._add(MANIFEST, manifest)
        if keys is not None:
            self._add(KEYS, keys)
        self._tar.close()
        self._file.write(_trailer(self._hashed.digest.hexdigest()))

    def _add(self, name: str, content: bytes) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode = len(content), 0o600
        self._tar.addfile(member, BytesIO(content))


@contextmanager
def new_backup(path: Path) -> Iterator[Writer]:
    """A file for its owner alone, which gets its name when it is whole. Raises: OSError, FileExistsError."""
    if path.exists():
        raise FileExistsError(17, "it exists already", str(path))
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            # A draft that no process locks is left over from a backup that was killed.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield Writer(file)
            file.flush()
            os.fsync(file.fileno())
            os.link(draft, path)
    finally:
        draft.unlink()
    _sync_directory(path.parent)


@contextmanager
def streamed_backup(stream: BinaryIO) -> Iterator[Writer]:
    """Write a backup to a stream, whose reader refuses it without its end. Raises: OSError."""
    yield Writer(stream)
    stream.flush()


def is_whole(path: Path) -> bool:
    """Return whether the file ends as a backup does. Raises: OSError."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - TRAILER_BYTES, 0))
        return _END.fullmatch(file.read()) is not None


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Reader:
    """Reads one backup that was verified; `manifest` and `keys` are there after that."""

    def __init__(self, path: Path) -> None:
        """Verify every piece of the file. Raises: BadBackup, OSError."""
        self._path = path
        self._places: dict[str, list[tuple[int, int]]] = {}
        self._require_whole()
        content = self._verify()
        self.manifest, self.manifest_digest = content[0], digest_of(content[1])
        self.keys = content[2]

    def pieces(self, table: str) -> Iterator[bytes]:
        """The content of a table, a piece at a time. Raises: BadBackup."""
        with self._path.open("rb") as file:
            for offset, size in self._places.get(table, []):
                file.seek(offset)
                yield _inflated(file.read(size))

    def _require_whole(self) -> None:
        size = self._path.stat().st_size - TRAILER_BYTES
        digest = sha256()
        with self._path.open("rb") as file:
            while content := file.read(min(PIECE_BYTES, max(size - file.tell(), 0))):
                digest.update(content)
            if size <= 0 or file.read() != _trailer(digest.hexdigest()):
                raise BadBackup(f"{self._path} is not a backup, or it was changed or truncated")

    def _verify(self) -> tuple[Manifest, bytes, bytes | None]:
        found: dict[str, tuple[int, str]] = {}
        digest, size, present = sha256(), 0, ""
        small: dict[str, bytes] = {}
        for name, offset, content in self._members():
            if name in {MANIFEST, KEYS}:
                small[name] = content
                continue
            table = name.partition("/")[0]
            if table != present:
                digest, size, present = sha256(), 0, table
                self._places[table] = []
            self._places[table].append((offset, len(content)))
            piece = _inflated(content)
            digest.update(piece)
            size += len(piece)
            found[table] = (size, digest.hexdigest())
        if MANIFEST not in small:
            raise BadBackup(f"{self._path} is incomplete: its end is missing")
        manifest = _manifest(small[MANIFEST])
        if manifest.has_keys and KEYS not in small:
            raise BadBackup(f"{self._path} is incomplete: its end is missing")
        nothing = (0, sha256().hexdigest())
        for name, table_manifest in manifest.tables.items():
            if found.pop(name, nothing) != (table_manifest.bytes, table_manifest.sha256):
                raise BadBackup(f"{self._path} was altered or damaged: {name} is not what was written")
        if found:
            raise BadBackup(f"{self._path} was altered: {next(iter(found))} is not in its manifest")
        return manifest, small[MANIFEST], small.get(KEYS)

    def _members(self) -> Iterator[tuple[str, int, bytes]]:
        try:
            with tarfile.open(self._path, "r:") as tar:
                for member in tar:
                    limit = SMALL_MAX_BYTES if member.name in {MANIFEST, KEYS} else PIECE_MAX_BYTES
                    file = tar.extractfile(member)
                    if file is None or member.size > limit:
                        raise BadBackup(f"{self._path} is not a backup, or it was changed: {member.name}")
                    content = file.read()
                    if len(content) != member.size:
                        raise BadBackup(f"{self._path} is incomplete: its end is missing")
                    yield member.name, member.offset_data, content
        except tarfile.TarError:
            raise BadBackup(f"{self._path} is not a complete backup written by `hansa db backup`") from None


def _trailer(digest: str) -> bytes:
    return f"{FORMAT} {digest}\n".encode()


def _inflated(content: bytes) -> bytes:
    inflater = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    piece = None
    with suppress(zlib.error):
        piece = inflater.decompress(content, PIECE_MAX_BYTES)
    if piece is None or not inflater.eof or inflater.unused_data:
        raise BadBackup("the backup was altered or damaged: a piece of a table does not unpack")
    return piece


def _manifest(content: bytes) -> Manifest:
    try:
        manifest = Manifest.model_validate_json(content)
    except ValidationError:
        raise BadBackup("the backup's manifest is not one that this version reads") from None
    if manifest.format != FORMAT:
        raise BadBackup(f"the backup is in the format {manifest.format}, and this version reads {FORMAT}")
    return manifest


def written(manifest: Manifest) -> bytes:
    """The manifest as it stands in the file."""
    return json.dumps(manifest.model_dump(), indent=1, sort_keys=True).encode()


def digest_of(manifest: bytes) -> bytes:
    """Digest that the keys in the file are bound to."""
    return sha256(manifest).digest()
