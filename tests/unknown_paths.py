"""A misspelled path answers 404, as an unknown object does: the clients of tests fail at a path that no route has.

A test that means such a path sends its request `with unknown_paths():`, or takes the fixture `unknown_paths_expected`.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx2

from hansa.doors.http.problems import SENTENCES

NO_ROUTE = SENTENCES[404]

_expecting: list[None] = []


async def refuse_unknown_path(answer: httpx2.Response) -> None:
    """For the event hooks of a client. Raises: AssertionError."""
    if answer.status_code != 404 or _expecting:
        return
    await answer.aread()
    assert NO_ROUTE not in answer.text, (
        f"no route has the path of {answer.request.method} {answer.request.url}"
    )


@contextmanager
def unknown_paths() -> Iterator[None]:
    """Expect paths that no route has, meanwhile."""
    _expecting.append(None)
    try:
        yield
    finally:
        _expecting.pop()


HOOKS = {"response": [refuse_unknown_path]}
