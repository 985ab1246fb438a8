"""Name of a reactor's job, and the stored text of a reaction that failed. No I/O."""

TROUBLE_MAX_CHARACTERS = 300


def job_name(reactor: str) -> str:
    """The kind of the job that runs the reactor."""
    return f"reactor: {reactor}"


def error_text(error: Exception) -> str:
    """Return the stored text of an error: its kind and the first line, which names no values of a row."""
    line = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {line}"[:TROUBLE_MAX_CHARACTERS]
