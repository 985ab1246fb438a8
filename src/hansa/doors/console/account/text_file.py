"""A text that a page offers as a file: it is in the link, so that nothing of it is stored or asked for again."""

from urllib.parse import quote


def text_file(text: str) -> str:
    """The address of a file that holds this text and a line end."""
    return f"data:text/plain;charset=utf-8,{quote(text + chr(10))}"


def environment_file(variables: dict[str, str]) -> str:
    """The address of a file that a shell reads: `NAME='value'`, a line each, in the given order."""
    return text_file("\n".join(f"{name}={_quoted(value)}" for name, value in variables.items()))


def _quoted(value: str) -> str:
    # A shell ends the quotation, adds one quote, and begins it again.
    escaped = value.replace("'", "'\\''")
    return f"'{escaped}'"
