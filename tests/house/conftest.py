"""Fixture of every test of the house."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _nothing_is_collected_while_sources_are_parsed() -> Iterator[None]:
    """Collect what earlier tests left, and nothing during the test.

    An object that is collected may log a traceback, which parses a line of source; Python 3.11 refuses a parse within another one
    (`AST constructor recursion depth mismatch`).
    """
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
