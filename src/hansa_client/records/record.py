"""The base of every typed answer."""

from typing import Any, ClassVar, Generic, TypeVar

import msgspec

Item = TypeVar("Item")


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """An answer, or a part of one; immutable. Members named in `secrets` are absent from its `repr`."""

    secrets: ClassVar[frozenset[str]] = frozenset()

    def __repr__(self) -> str:
        shown = (
            f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__ if name not in self.secrets
        )
        return f"{type(self).__name__}({', '.join(shown)})"


class Pagination(Record, frozen=True):
    """Place of a page in a list."""

    total_items: int
    limit: int
    offset: int
    total_pages: int
    current_page: int


class Page(Record, Generic[Item], frozen=True):
    """One page of a list; `next`, where there is one, leads to the page after it."""

    items: list[Item]
    pagination: Pagination
    next: str | None = None


class LineRefusal(Record, frozen=True):
    """Why one line of a bulk was refused."""

    code: str
    detail: str
    context: dict[str, Any] | None = None
