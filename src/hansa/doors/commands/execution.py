"""Running a command's work: its settings, its event loop, and the failures that end in one line."""

import os
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hansa.doors.commands.outcome import fail

if TYPE_CHECKING:
    from hansa.foundation.plumbing.settings import Settings

Answer = TypeVar("Answer")


def settings_from(**overrides: object) -> "Settings":
    """The settings of the environment; `overrides` (from the command line) win. A bad one ends the command.

    From then on the command logs its warnings and errors on standard error: standard output is for its outcome.
    """
    from hansa.foundation.plumbing.log import configure_logs
    from hansa.foundation.plumbing.settings import BadSetting, read_settings

    try:
        settings = read_settings(**overrides)
    except BadSetting as trouble:
        fail(str(trouble))
    configure_logs("error" if settings.log_level == "error" else "warning", settings.log_format)
    return settings


def use_settings_file(path: Path) -> None:
    """Let the variables of a settings file count for this command, below those of the environment. A bad file ends the command."""
    from hansa.foundation.plumbing.settings import CONFIG_VARIABLE, BadSetting, apply_settings_file

    try:
        apply_settings_file(path.expanduser())
    except BadSetting as error:
        fail(str(error))
    # Processes that this one starts get the values, not the file, which may have changed by then.
    os.environ.pop(CONFIG_VARIABLE, None)


def run(work: Coroutine[Any, Any, Answer]) -> Answer:
    """The result of the coroutine, in an event loop of its own."""
    import asyncio

    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def run_act(act: Coroutine[Any, Any, Answer]) -> Answer:
    """The result of an operator's act on the registry's data; an expected failure ends the command."""
    with failures_in_one_line():
        return run(act)


@contextmanager
def failures_in_one_line() -> Iterator[None]:
    """An expected failure in this block ends the command with one line."""
    from hansa.foundation.plumbing.embedded import EmbeddedPostgresFailed
    from hansa.foundation.plumbing.keys import BadKey
    from hansa.foundation.values.errors import Refused

    try:
        yield
    except Refused as trouble:
        fail(trouble.detail)
    except (EmbeddedPostgresFailed, BadKey) as trouble:
        fail(str(trouble))


@contextmanager
def file_failures_in_one_line(file: Path) -> Iterator[None]:
    """Like `failures_in_one_line`, in a block that reads or writes `file`."""
    try:
        with failures_in_one_line():
            yield
    except OSError as trouble:
        fail(f"{trouble.filename or file} cannot be used: {trouble.strerror}")


def data_directory(settings: "Settings") -> Path:
    """The data directory, absolute; where there is no registry, that ends the command."""
    directory = settings.data_dir.expanduser().resolve()
    if settings.database_url is None:
        from hansa.foundation.plumbing.embedded import require_cluster

        with failures_in_one_line():
            require_cluster(directory)
    return directory
