"""Index of one process on its disk: documents, and the place in the changes of a database up to which they are current.

- A directory belongs to one process at a time: another one takes the next.
- The place in the changes is written after the documents. After a crash in between the same changes are indexed again, and
  indexing a card twice leaves one document.
- An index of another form, of another database, unreadable or too old is thrown away and built anew.
"""

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import tantivy

from .documents import FORM, CardRow, document_of, register_analyzers, schema

SLOTS_MAX = 1024
WRITER_BYTES = 64_000_000
WRITER_THREADS = 1
# A whole catalogue is written in fewer and larger pieces.
BUILDER_BYTES = 256_000_000
BUILDER_THREADS = 2
# The numbers of deleted cards are kept a day longer.
LAST_NUMBER = (1 << 63) - 1
OLDEST_SECONDS = 7 * 24 * 3600


class Place(msgspec.Struct, frozen=True):
    """Every change by a transaction before `cursor` on this timeline of the database `system` has been indexed."""

    system: str
    timeline: int
    cursor: int

    def is_behind(self, other: "Place") -> bool:
        """Return whether the changes since then are those that lead to another place."""
        return (self.system, self.timeline) == (other.system, other.timeline) and self.cursor <= other.cursor

    def is_before_failover(self, other: "Place") -> bool:
        """Return whether the other place is on a later timeline of the same database: a standby was promoted."""
        return self.system == other.system and self.timeline < other.timeline


class SearchIndex:
    """Documents on disk, written by one process. Its calls block: they are made in threads."""

    def __init__(self, directory: Path, own_currency: str) -> None:
        self._own_currency = own_currency
        self._place: Place | None = None
        self._writer: tantivy.IndexWriter | None = None
        self._is_being_built = False
        self._lock, self._home = _claim(directory)
        self.reopen()

    def close(self) -> None:
        """Leave the directory to others."""
        # The lock of the documents goes with it.
        self._writer = None
        os.close(self._lock)

    @property
    def place(self) -> Place | None:
        """Up to where this index is current; None while it has never been filled."""
        return self._place

    def searcher(self) -> tantivy.Searcher:
        """The documents as of the last commit."""
        return self._index.searcher()

    def versions(self, after: int, last: int | None) -> dict[int, int]:
        """The transaction of each document above the number `after`, up to `last` where there is one."""
        searcher = self.searcher()
        upper = LAST_NUMBER if last is None else last
        between = tantivy.Query.range_query(
            schema(), "id", tantivy.FieldType.Integer, after, upper, include_lower=False
        )
        # A limit of zero is refused.
        found = searcher.search(
            between, max(searcher.num_docs, 1), count=False, order_by_field="version"
        ).hits
        numbers = searcher.fast_field_values("id", [address for _, address in found])
        return {int(number or 0): int(version) for number, (version, _) in zip(numbers, found, strict=True)}

    def clear(self) -> None:
        """Forget all documents, once the next commit stands; as many as there may be are then added."""
        self._write_with(BUILDER_BYTES, BUILDER_THREADS)
        self._is_being_built = True
        self._opened.delete_all_documents()

    def add(self, cards: Iterable[CardRow]) -> None:
        """Add cards that have no document."""
        for card in cards:
            self._opened.add_document(document_of(card, self._own_currency))

    def replace(self, cards: Iterable[CardRow], deleted: Iterable[int] = ()) -> None:
        """Replace the documents of these cards; hidden and deleted ones lose theirs."""
        if self._is_being_built:
            self._write_with(WRITER_BYTES, WRITER_THREADS)
            self._is_being_built = False
        for number in deleted:
            self._opened.delete_documents_by_term("id", number)
        for card in cards:
            self._opened.delete_documents_by_term("id", card.id)
            if card.is_shown:
                self._opened.add_document(document_of(card, self._own_currency))

    def commit(self, place: Place) -> None:
        """Make the written documents searchable and durable, then the place."""
        self._opened.commit()
        self._index.reload()
        self.move(place)

    def move(self, place: Place) -> None:
        """Note a place up to which nothing else was changed."""
        written = {
            "form": self._form,
            "database": place.system,
            "timeline": place.timeline,
            "cursor": place.cursor,
            "at": time.time(),
        }
        scratch = self._place_file.with_suffix(".new")
        scratch.write_text(json.dumps(written), "utf-8")
        scratch.replace(self._place_file)
        self._place = place

    def reopen(self) -> None:
        """Begin again from the files on the disk: a writer that failed once is good for nothing.

        Where that fails as well, the documents of before can still be searched.
        """
        # The old writer holds the lock that the new one takes.
        self._writer = None
        place = self._read_place()
        try:
            index = _index_in(self._home / "documents", keep=place is not None)
        except (ValueError, OSError):
            # Its files are damaged.
            place = None
            index = _index_in(self._home / "documents", keep=False)
        register_analyzers(index)
        index.config_reader("manual")
        index.reload()
        self._index, self._place = index, place
        self._is_being_built = False
        self._write_with(WRITER_BYTES, WRITER_THREADS)

    def distrust(self) -> None:
        """Have it built anew from nothing when it is next opened."""
        self._place_file.unlink(missing_ok=True)

    def _write_with(self, size: int, threads: int) -> None:
        # The old writer holds the lock that the new one takes. Merges that it had begun are begun again by the new one.
        self._writer = None
        self._writer = self._index.writer(size, threads)

    @property
    def _opened(self) -> tantivy.IndexWriter:
        assert self._writer is not None
        return self._writer

    @property
    def _form(self) -> str:
        # Whether a card is foreign is decided when it is indexed.
        return f"{FORM}/{self._own_currency}"

    @property
    def _place_file(self) -> Path:
        return self._home / "place.json"

    def _read_place(self) -> Place | None:
        try:
            written: dict[str, Any] = json.loads(self._place_file.read_text("utf-8"))
            if not tantivy.Index.exists(str(self._home / "documents")):
                return None
            if written["form"] != self._form or written["at"] < time.time() - OLDEST_SECONDS:
                return None
            return Place(str(written["database"]), int(written["timeline"]), int(written["cursor"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None


def _claim(directory: Path) -> tuple[int, Path]:
    """The first directory that no other process has, and its lock. No other account may read the text of unlisted cards."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    # One that an earlier version made is open to all.
    directory.chmod(0o700)
    for number in range(SLOTS_MAX):
        home = directory / str(number)
        home.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(home / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
        else:
            return lock, home
    raise OSError(f"every search directory below {directory} is in use")


def _index_in(directory: Path, *, keep: bool) -> tantivy.Index:
    """The index in that directory, an empty one unless there is one to keep."""
    if not keep:
        with suppress(FileNotFoundError):
            shutil.rmtree(directory)
    directory.mkdir(mode=0o700, exist_ok=True)
    return tantivy.Index(schema(), path=str(directory), reuse=keep)
