"""Why a connection to another host failed, in words for a person."""

import os


def cause_of(trouble: BaseException) -> str:
    """The system's reason where there is one: the client wraps it in sentences without content."""
    seen: BaseException | None = trouble
    while seen is not None:
        if isinstance(seen, BaseExceptionGroup):
            seen = seen.exceptions[0]
        if isinstance(seen, OSError) and seen.errno is not None and seen.errno > 0:
            return os.strerror(seen.errno).lower()
        seen = seen.__cause__ or seen.__context__
    return str(trouble) or type(trouble).__name__
