"""Reads that do not wait for each other: one statement and one snapshot for all of them.

- Each is an ordinary read of a room; it gets a `tx` that offers `fetch`, `fetchrow` and `fetchval`.
- The statements at which the reads have arrived are joined; each read goes on with its rows until its next statement.
- A read awaits nothing but its statements: it runs within the call, without a task of its own.
- A read may be made of joined reads itself; their statements join those of its siblings.
"""

import re
from collections.abc import (
    Awaitable,
    Callable,
    Generator,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
)
from functools import lru_cache
from types import coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeAlias, TypeVar, cast, overload

import asyncpg
import msgspec

from hansa.foundation.plumbing.storage.connection import Tx

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
F = TypeVar("F")
G = TypeVar("G")
Result = TypeVar("Result")
Values = ParamSpec("Values")

# Texts of joined statements that a process keeps; a page has a few.
TEXTS_MAX = 512
# Name of the column that numbers the rows of a part; no statement of a room has it.
NUMBER = "#"

_PARAMETER = re.compile(r"\$(\d+)")


class Statement(msgspec.Struct, frozen=True):
    """SQL with the values of its parameters."""

    query: str
    values: tuple[Any, ...]
    timeout: float | None = None


class Row:
    """Row of a joined statement, with the interface of a record of the driver: values by name and by number."""

    __slots__ = ("_columns", "_values")

    def __init__(self, columns: Mapping[str, int], values: tuple[Any, ...]) -> None:
        self._columns = columns
        self._values = values

    def __getitem__(self, key: Any) -> Any:
        return self._values[self._columns[key] if isinstance(key, str) else key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __len__(self) -> int:
        return len(self._values)

    def keys(self) -> KeysView[str]:
        """The names of the columns."""
        return self._columns.keys()

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a column; the default without such a column."""
        return self[name] if name in self._columns else default

    def values(self) -> tuple[Any, ...]:
        """The values in the order of the columns."""
        return self._values

    def items(self) -> ItemsView[str, Any]:
        """The values with their names."""
        return {name: self._values[place] for name, place in self._columns.items()}.items()


Rows: TypeAlias = Sequence[Row | asyncpg.Record]
Read: TypeAlias = Callable[[Tx], Awaitable[Result]]


@overload
async def read_together(tx: Tx, _a: Read[A], _b: Read[B], /) -> tuple[A, B]: ...
@overload
async def read_together(tx: Tx, _a: Read[A], _b: Read[B], _c: Read[C], /) -> tuple[A, B, C]: ...
@overload
async def read_together(
    tx: Tx, _a: Read[A], _b: Read[B], _c: Read[C], _d: Read[D], /
) -> tuple[A, B, C, D]: ...
@overload
async def read_together(
    tx: Tx, _a: Read[A], _b: Read[B], _c: Read[C], _d: Read[D], _e: Read[E], /
) -> tuple[A, B, C, D, E]: ...
@overload
async def read_together(
    tx: Tx, _a: Read[A], _b: Read[B], _c: Read[C], _d: Read[D], _e: Read[E], _f: Read[F], /
) -> tuple[A, B, C, D, E, F]: ...
@overload
async def read_together(
    tx: Tx, _a: Read[A], _b: Read[B], _c: Read[C], _d: Read[D], _e: Read[E], _f: Read[F], _g: Read[G], /
) -> tuple[A, B, C, D, E, F, G]: ...
async def read_together(tx: Tx, /, *reads: Read[Any]) -> tuple[Any, ...]:
    """The results of these reads, in their order. Raises: the error of the first read that has one."""
    return tuple(await read_each(tx, reads))


async def read_each(tx: Tx, reads: Iterable[Read[Result]]) -> list[Result]:
    """The same for any number of reads of one kind."""
    joining = cast("Tx", _Joining())
    running = [_Running(read(joining)) for read in reads]
    try:
        for one in running:
            one.go_on(None)
        while asked := [statement for one in running for statement in one.asked]:
            rows = iter(await _rows_of(tx, asked))
            for one in running:
                if one.asked:
                    one.go_on([next(rows) for _ in one.asked])
    finally:
        for one in running:
            one.end()
    return [one.result for one in running]


def reading(
    read: Callable[Concatenate[Tx, Values], Awaitable[Result]], *values: Values.args, **named: Values.kwargs
) -> Read[Result]:
    """A read with its values."""
    return lambda tx: read(tx, *values, **named)


class _Joining:
    """The `tx` of a joined read: a statement waits until its siblings have arrived at theirs."""

    async def fetch(self, query: str, *values: Any, timeout: float | None = None) -> Rows:  # noqa: ASYNC109
        (rows,) = await _arrived([Statement(query, values, timeout)])
        return rows

    async def fetchrow(self, query: str, *values: Any) -> Row | asyncpg.Record | None:
        rows = await self.fetch(query, *values)
        return rows[0] if rows else None

    async def fetchval(self, query: str, *values: Any) -> Any:
        row = await self.fetchrow(query, *values)
        return None if row is None else row[0]


@coroutine
def _arrived(asked: list[Statement]) -> Generator[list[Statement], Sequence[Rows], Sequence[Rows]]:
    return (yield asked)


class _Running(Generic[Result]):
    """A read that has begun: the statements at which it has arrived, none once it has ended with its result."""

    result: Result

    def __init__(self, read: Awaitable[Result]) -> None:
        self.asked: list[Statement] = []
        self._steps = cast("Generator[list[Statement], Sequence[Rows] | None, Result]", read.__await__())

    def go_on(self, rows: Sequence[Rows] | None) -> None:
        """Run until the next statements, or the end."""
        try:
            self.asked = self._steps.send(rows)
        except StopIteration as ended:
            self.asked, self.result = [], ended.value
        assert isinstance(self.asked, list), "a joined read awaits its statements alone"

    def end(self) -> None:
        """Leave the rest; nothing where the read has come to its end."""
        self._steps.close()


async def _rows_of(tx: Tx, asked: list[Statement]) -> Sequence[Rows]:
    if isinstance(tx, _Joining):
        return await _arrived(asked)
    if len(asked) == 1:
        (only,) = asked
        return [await tx.fetch(only.query, *only.values, timeout=only.timeout)]
    text = _joined(tuple((one.query, len(one.values)) for one in asked))
    values = [value for one in asked for value in one.values]
    timeout = max((one.timeout for one in asked if one.timeout is not None), default=None)
    return _apart(await tx.fetch(text, *values, timeout=timeout), len(asked))


@lru_cache(maxsize=TEXTS_MAX)
def _joined(parts: tuple[tuple[str, int], ...]) -> str:
    """One statement: the rows of each part beside each other, numbered from one, with the parameters in the order of the parts."""
    begin, number, sources = 0, "", []
    for place, (query, parameters) in enumerate(parts):
        source = f"({_numbered(query, begin)}) r{place}"
        own = f'r{place}."{NUMBER}"'
        sources.append(f"{source} ON {own} = {number}" if place else source)
        number = f"coalesce({number}, {own})" if place else own
        begin += parameters
    return f"SELECT * FROM {' FULL JOIN '.join(sources)}"  # noqa: S608


def _numbered(query: str, begin: int) -> str:
    """The rows of a statement with their numbers; its first parameter is the one behind `begin`."""
    text = _PARAMETER.sub(lambda found: f"${int(found[1]) + begin}", query)
    # A statement may end with a comment.
    return f'SELECT row_number() OVER () AS "{NUMBER}", q.* FROM (\n{text}\n) q'  # noqa: S608


def _apart(records: Sequence[asyncpg.Record], count: int) -> list[Rows]:
    """The rows of each part, in their order."""
    if not records:
        return [[] for _ in range(count)]
    names = list(records[0].keys())
    begins = [place for place, name in enumerate(names) if name == NUMBER]
    assert len(begins) == count, "no statement of a room names a column so"
    return [
        _rows_between(records, begin, end, {name: place for place, name in enumerate(names[begin + 1 : end])})
        for begin, end in zip(begins, [*begins[1:], len(names)], strict=True)
    ]


def _rows_between(
    records: Sequence[asyncpg.Record], begin: int, end: int, columns: Mapping[str, int]
) -> Rows:
    numbered = [(record[begin], record) for record in records if record[begin] is not None]
    numbered.sort(key=lambda one: one[0])
    return [Row(columns, tuple(record)[begin + 1 : end]) for _, record in numbered]
