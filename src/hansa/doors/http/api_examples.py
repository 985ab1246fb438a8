"""Examples."""

from typing import Any


def add_examples(document: dict[str, Any]) -> None:
    """No examples yet."""
    del document
