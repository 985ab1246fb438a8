"""Writing the archive of a month: one Parquet file, compressed with zstd, and the members of its manifest.

The file gets its name when it is whole. The rows of a month are final once it is over and every transaction that began in it has
ended.
"""

import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa_verify import ARCHIVE_KIND, COLUMNS, RowTree

from . import store
from .errors import MonthNotArchivable
from .records import Month

READ_BYTES = 1 << 20
_TEXTS = frozenset(
    {
        *("id", "event_type", "aggregate_id", "aggregate_type", "data", "metadata", "source_service"),
        *("idempotency_key", "tx_type", "payee", "message"),
    }
)
# Ids and JSON hardly repeat; numbers rise or stay near each other.
_OF_ITS_OWN = frozenset({"id", "data", "idempotency_key", "message"})


async def write_month(tx: Tx, month: Month, directory: Path, registry: str) -> dict[str, Any]:
    """Write the file of a month; returns its manifest, unsigned. `tx` must be one snapshot.

    Raises: MonthNotArchivable, OSError.
    """
    state = await store.state_of(tx, month)
    if state.is_dropped:
        raise MonthNotArchivable(f"{month.name} was dropped; its events are in its archive alone.")
    if not state.has_partition:
        raise MonthNotArchivable(f"The journal has no partition for {month.name}.")
    if state.now < month.bounds[1]:
        raise MonthNotArchivable(f"{month.name} is not over.")
    if state.may_grow:
        raise MonthNotArchivable(
            f"A transaction that began in {month.name} is still open; try again when it has ended."
        )
    name = f"journal-{month.name}.parquet"
    tree = RowTree()
    with MonthFile(directory / name) as file:
        async for rows in store.rows_of(tx, month):
            file.add(tree, rows)
    size, digest = _size_and_digest(directory / name)
    return {
        "kind": ARCHIVE_KIND,
        "registry": registry,
        "month": month.name,
        "columns": list(COLUMNS),
        "terms": await store.terms(tx),
        "file": {"name": name, "bytes": size, "sha256": digest},
        **tree.statement(),
    }


class MonthFile:
    """A Parquet file that is written under a name of its own and renamed when it is whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._draft = path.with_name(f".{path.name}.{os.getpid()}")

    def __enter__(self) -> Self:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        types = [(name, pa.string() if name in _TEXTS else pa.int64()) for name in COLUMNS]
        self._schema = pa.schema(types)
        numbers = [name for name in COLUMNS if name not in _TEXTS]
        self._writer = ParquetWriter(
            self._draft,
            self._schema,
            compression="zstd",
            use_dictionary=sorted(_TEXTS - _OF_ITS_OWN),
            column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
            write_statistics=["seq", "recorded_at_us", "xid", "tx_id"],
        )
        return self

    def add(self, tree: RowTree, rows: Sequence[str]) -> None:
        """Add rows, each as the text of its leaf, to the file and to the tree."""
        import pyarrow as pa

        decoded = [msgspec.json.decode(row) for row in rows]
        for row, text in zip(decoded, rows, strict=True):
            tree.add(row, text)
        columns = [
            pa.array(column, type=field.type)
            for column, field in zip(zip(*decoded, strict=True), self._schema, strict=True)
        ]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._writer.close()
            if kind is None:
                with self._draft.open("rb") as file:
                    os.fsync(file.fileno())
                self._draft.replace(self._path)
        finally:
            self._draft.unlink(missing_ok=True)


def _size_and_digest(path: Path) -> tuple[int, str]:
    digest, size = sha256(), 0
    with path.open("rb") as file:
        while content := file.read(READ_BYTES):
            digest.update(content)
            size += len(content)
    return size, digest.hexdigest()
