"""The shape of list answers."""

from typing import Generic, TypeVar

from hansa.foundation.values.lazy_model import LazyModel

Item = TypeVar("Item")


class Pagination(LazyModel):
    """The position of a page in its listing."""

    total_items: int
    limit: int
    offset: int
    total_pages: int
    current_page: int

    @classmethod
    def of(cls, *, total: int, limit: int, offset: int) -> "Pagination":
        """The figures of the page of `limit` items that begins at `offset`."""
        return cls(
            total_items=total,
            limit=limit,
            offset=offset,
            total_pages=-(-total // limit),
            current_page=offset // limit + 1,
        )


class Page(LazyModel, Generic[Item]):
    """One page of a listing."""

    items: list[Item]
    pagination: Pagination
