"""Judge an archive of one month of a registry's journal: a Parquet file, and a manifest that the registry signed.

- The manifest states the month, the rows in their order, the positions, the digest of the file and the tree head: the root of the
  Merkle tree (RFC 6962) whose leaves are the rows. A leaf is the row as a JSON array of the columns, as `row_text` writes it.
- The file is judged by its bytes and by its rows: each is of the month, and they rise by sequence number.
- An archive is judged as of its signature: the key of an old month is retired by then. Keys come from the caller, with their
  times; a key that was retired before the signature counts for nothing.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from .canonical import canonical_json
from .card import CARD_MAX_BYTES, SIGNED_AT_MAX, DocumentEvaluation
from .keys import CLOCK_SKEW, RegistryKey
from .steps import VERIFIED, Decision, Refusal

ARCHIVE_KIND, ARCHIVE_TYPE = "journal.archive.v1", "journal-archive+jws"
READ_ROWS = 20_000
READ_BYTES = 1 << 20

COLUMNS = (
    *("seq", "id", "event_type", "aggregate_id", "aggregate_type", "data", "metadata", "recorded_at_us"),
    *(
        "version",
        "source_service",
        "idempotency_key",
        "xid",
        "terms",
        "admitted",
        "tx_id",
        "tx_type",
        "payee",
    ),
    *("amount", "fee", "freed", "payer_after", "payee_after", "freed_after", "collector_after", "message"),
)
"""Columns of the file, and members of a row: numbers and texts. `recorded_at_us` is microseconds since 1970."""

_SEQ, _RECORDED_AT, _XID, _ADMITTED = (
    COLUMNS.index(name) for name in ("seq", "recorded_at_us", "xid", "admitted")
)
_MEMBERS: dict[str, type] = {
    "kind": str,
    "registry": str,
    "month": str,
    "rows": int,
    "events": int,
    "first_sequence": int,
    "last_sequence": int,
    "last_position": list,
    "columns": list,
    "terms": list,
    "file": dict,
    "tree_head": dict,
}
_encode = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True)
class ArchiveVerdict(Decision):
    """The judgement; `manifest` is the signed one, and `digest` its SHA-256, where everything holds."""

    manifest: Mapping[str, Any] | None = None
    digest: bytes | None = None
    kid: str | None = None


def verify_archive(
    directory: Path, month: str, keys: Sequence[RegistryKey], *, at: datetime | None = None
) -> ArchiveVerdict:
    """Judge the archive of a month (`2026-08`) in a directory. Raises: OSError, ModuleNotFoundError without pyarrow."""
    judged = _Evaluation(directory, month, keys, at)
    code, steps = judged.take()
    if code != VERIFIED:
        return ArchiveVerdict(code, steps)
    return ArchiveVerdict(code, steps, judged.card, manifest_digest(judged.card), judged.signer.kid)


def manifest_path(directory: Path, month: str) -> Path:
    """The manifest of a month in a directory."""
    return directory / f"journal-{month}.json"


def manifest_digest(manifest: Mapping[str, Any]) -> bytes:
    """SHA-256 of a manifest without its signatures."""
    return sha256(canonical_json(manifest)).digest()


def row_text(row: Sequence[Any]) -> str:
    """A row as a JSON array: the text of which a leaf is the hash."""
    return _encode(row)


def span_of(row: Sequence[Any]) -> int:
    """How many events a row stands for: its own, and those of the bits 2 and 4 of `admitted`."""
    admitted = row[_ADMITTED] or 0
    return 1 + (admitted >> 1 & 1) + (admitted >> 2 & 1)


def bounds_of(month: str) -> tuple[int, int]:
    """The first microsecond of a month and of the next, UTC. Raises: ValueError."""
    first = datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC)
    past = (first + timedelta(days=31)).replace(day=1)
    return int(first.timestamp()) * 1_000_000, int(past.timestamp()) * 1_000_000


class RowTree:
    """The Merkle tree of the rows that were added, and their count and positions."""

    def __init__(self) -> None:
        self.size = self.events = self.first_sequence = self.last_sequence = 0
        self.last_position = (0, 0)
        self._complete: list[bytes] = []

    def add(self, row: Sequence[Any], text: str) -> None:
        """Add a row, whose text is `row_text(row)`."""
        node, index = sha256(b"\0" + text.encode()).digest(), self.size
        while index & 1:
            node = sha256(b"\1" + self._complete.pop() + node).digest()
            index >>= 1
        self._complete.append(node)
        span = span_of(row)
        last = row[_SEQ] + span - 1
        self.first_sequence = self.first_sequence or row[_SEQ]
        self.last_sequence = last
        self.last_position = max(self.last_position, (row[_XID], last))
        self.size += 1
        self.events += span

    @property
    def root(self) -> bytes:
        """The root of all rows."""
        if not self._complete:
            return sha256(b"").digest()
        root = self._complete[-1]
        for node in reversed(self._complete[:-1]):
            root = sha256(b"\1" + node + root).digest()
        return root

    def statement(self) -> dict[str, Any]:
        """The members of a manifest that follow from the rows."""
        return {
            "rows": self.size,
            "events": self.events,
            "first_sequence": self.first_sequence,
            "last_sequence": self.last_sequence,
            "last_position": list(self.last_position),
            "tree_head": {"size": self.size, "root": self.root.hex()},
        }


class _Evaluation(DocumentEvaluation):
    def __init__(self, directory: Path, month: str, keys: Sequence[RegistryKey], at: datetime | None) -> None:
        path = manifest_path(directory, month)
        with path.open("rb") as file:
            content = file.read(CARD_MAX_BYTES + 1)
        super().__init__(content, keys, ARCHIVE_TYPE, at)
        self.directory, self.month = directory, month

    def time(self) -> str:
        stated = self.entry.signed_at
        if stated is None or not 0 <= stated <= SIGNED_AT_MAX:
            raise Refusal("malformed", "the signature does not state when it was made")
        self.signed_at = datetime.fromtimestamp(stated, UTC)
        if self.signed_at > self.at + CLOCK_SKEW:
            raise Refusal("from_the_future", f"signed at {self.signed_at.isoformat()}")
        self.signer.require_in_force(self.signed_at)
        return f"signed at {self.signed_at.isoformat()}"

    def manifest(self) -> str:
        stated = self.card
        if stated.keys() != _MEMBERS.keys() or any(
            type(stated[name]) is not kind for name, kind in _MEMBERS.items()
        ):
            raise Refusal("malformed", f"a manifest has the members {', '.join(_MEMBERS)}")
        if stated["kind"] != ARCHIVE_KIND or tuple(stated["columns"]) != COLUMNS:
            raise Refusal("malformed", f"the manifest is not one of the kind {ARCHIVE_KIND}")
        if stated["month"] != self.month:
            raise Refusal("other_month", f"the manifest is of {stated['month']}, not of {self.month}")
        _, past = bounds_of(self.month)
        if self.signed_at.timestamp() * 1_000_000 < past:
            raise Refusal("incomplete_month", "the manifest was signed before the month had ended")
        return f"{stated['rows']} rows of {stated['month']}, registry {stated['registry']}"

    def file(self) -> str:
        stated = self.card["file"]
        name = stated.get("name")
        if name != f"journal-{self.month}.parquet":
            raise Refusal("other_month", f"the manifest names the file {name!r}")
        digest, size = sha256(), 0
        try:
            with (self.directory / name).open("rb") as file:
                while content := file.read(READ_BYTES):
                    digest.update(content)
                    size += len(content)
        except FileNotFoundError:
            raise Refusal("file_missing", f"{name} is missing") from None
        if (size, digest.hexdigest()) != (stated.get("bytes"), stated.get("sha256")):
            raise Refusal("file_altered", f"{name} is not the file of the manifest")
        return f"{name} has {size} bytes, SHA-256 {digest.hexdigest()}"

    def rows(self) -> str:
        tree, (begin, past) = RowTree(), bounds_of(self.month)
        for row in read_rows(self.directory / self.card["file"]["name"]):
            if not begin <= row[_RECORDED_AT] < past:
                raise Refusal("other_month", f"row {row[_SEQ]} is not of {self.month}")
            if row[_SEQ] <= tree.last_sequence:
                raise Refusal("rows_altered", f"row {row[_SEQ]} is out of order")
            tree.add(row, row_text(row))
        found = tree.statement()
        for name, value in found.items():
            if self.card[name] != value:
                raise Refusal("rows_altered", f"{name} is {self.card[name]}, the rows give {value}")
        return f"{tree.size} rows, {tree.events} events, root {tree.root.hex()}"

    steps = (*DocumentEvaluation.steps[:3], time, DocumentEvaluation.signature, manifest, file, rows)


def read_rows(path: Path) -> Iterator[list[Any]]:
    """The rows of a file of an archive, as lists of COLUMNS. Raises: Refusal, ModuleNotFoundError without pyarrow."""
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            if tuple(file.schema_arrow.names) != COLUMNS:
                raise Refusal("rows_altered", "the file has other columns")
            for batch in file.iter_batches(READ_ROWS):
                yield from map(list, zip(*(column.to_pylist() for column in batch.columns), strict=True))
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        raise Refusal("rows_altered", f"the file cannot be read: {str(error).splitlines()[0]}") from None
