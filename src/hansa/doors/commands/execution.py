"""Running a command's work: its settings, its event loop, and the failures that end in one line.

How a command ends: its outcome on standard output, or one line on standard error and an exit status.
"""

import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import typer

if TYPE_CHECKING:
    from hansa.foundation.plumbing.settings import Settings
Answer = TypeVar("Answer")
FAILED = 1
USAGE_ERROR = 2


def settings_from(*, any_database: bool = False, **overrides: object) -> "Settings":
    """The settings of the environment and of the settings file; `overrides` (from the command line) win. A bad one ends the command.

    So does a data directory that belongs to another kind of database, unless the command takes any of them.

    From then on the command logs its warnings and errors on standard error: standard output is for its outcome.
    """
    from hansa.foundation.plumbing.process.data_directory import settings_with_file
    from hansa.foundation.plumbing.settings import BadSetting
    from hansa.foundation.plumbing.telemetry.log import configure_logs

    try:
        with failures_in_one_line():
            settings = settings_with_file(**overrides)
    except BadSetting as failure:
        fail(str(failure))
    configure_logs("error" if settings.log_level == "error" else "warning", settings.log_format)
    if not any_database:
        from hansa.foundation.plumbing.process.data_directory import require_kind

        with failures_in_one_line():
            require_kind(settings)
    return settings


def use_settings_file(path: Path) -> None:
    """Let the variables of a settings file count for this command, below those of the environment. A bad file ends the command."""
    from hansa.foundation.plumbing.settings import BadSetting, apply_settings_file

    try:
        apply_settings_file(path.expanduser())
    except BadSetting as error:
        fail(str(error))


def name_settings_file(path: Path) -> None:
    """Leave the reading of a settings file to this command."""
    import os

    from hansa.foundation.plumbing.settings import CONFIG_VARIABLE

    os.environ[CONFIG_VARIABLE] = str(path)


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
    from hansa.foundation.plumbing.keys.key_files import BadKey
    from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgresFailed
    from hansa.foundation.values.errors import Refused

    try:
        yield
    except Refused as error:
        fail(error.detail)
    except (EmbeddedPostgresFailed, BadKey) as error:
        fail(str(error))


@contextmanager
def file_failures_in_one_line(file: Path) -> Iterator[None]:
    """Like `failures_in_one_line`, in a block that reads or writes `file`."""
    try:
        with failures_in_one_line():
            yield
    except OSError as error:
        fail(f"{error.filename or file} cannot be used: {error.strerror}")


def data_directory(settings: "Settings") -> Path:
    """The data directory, absolute; where there is no registry, that ends the command."""
    from hansa.foundation.plumbing.process.data_directory import belonging
    from hansa.foundation.plumbing.storage.embedded import require_cluster

    directory = settings.data_dir.expanduser().resolve()
    with failures_in_one_line():
        record = belonging(directory)
        if settings.database_url is None and (record is None or record.database == "embedded"):
            require_cluster(directory)
    return directory


def print_outcome(
    sentence: str, members: dict[str, Any], *, as_json: bool, on_standard_error: bool = False
) -> None:
    """Print the sentence, or its members as JSON; on standard error where standard output has other content."""
    import json

    typer.echo(json.dumps(members, indent=2) if as_json else sentence, err=on_standard_error)


def fail(sentence: str, code: int = FAILED) -> NoReturn:
    """End the command with one line."""
    typer.echo(f"hansa: {sentence}", err=True)
    sys.exit(code)
