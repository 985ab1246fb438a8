"""The end of a process that ran one command."""

import atexit
import os
import sys
import threading
from collections.abc import Callable


def run_and_end(run: Callable[[], None]) -> None:
    """Run a command line, which raises SystemExit, and end the process."""
    try:
        run()
    except SystemExit as end:
        end_process(end.code)
        raise


def end_process(code: object) -> None:
    """End this process with the exit code that `SystemExit` holds, and leave its memory to the kernel.

    The interpreter would first free every object, which is a fifth of a short command, and copies all memory that a fork shares.
    Threads are waited for, exit handlers run and output is flushed as always. Returns where the interpreter has more to do: to
    print a sentence, or to report output that cannot be written.
    """
    if not (code is None or isinstance(code, int)):
        return
    # What the interpreter calls first, in its order.
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
    atexit._run_exitfuncs()  # noqa: SLF001
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except (OSError, ValueError):
        return
    os._exit(code or 0)
