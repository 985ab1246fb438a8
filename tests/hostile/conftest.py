"""Requests of strangers go to paths that no route has as well."""

from collections.abc import Iterator

import pytest

from tests.unknown_paths import unknown_paths


@pytest.fixture(autouse=True)
def paths_are_of_strangers() -> Iterator[None]:
    """A path that no route has is answered like any other."""
    with unknown_paths():
        yield
