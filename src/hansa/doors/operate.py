"""The entry point of the `hansa` command."""

import gc

from hansa_client.commands.ending import run_and_end

COLLECTED_AFTER = (500_000, 20, 20)


def run() -> None:
    """Run the command line. Raises: SystemExit, always."""
    # What a start makes, some 300,000 objects, stays: looking through it with the usual thresholds took a fifth of a start,
    # with 50,000 still a twentieth. A registry that serves sets a threshold of its own.
    gc.set_threshold(*COLLECTED_AFTER)

    from hansa.doors.commands.presentation import run_command_line
    from hansa.doors.commands.program import app

    run_command_line(app)


def main() -> None:
    """Run the command line, and end the process."""
    run_and_end(run)


if __name__ == "__main__":
    main()
