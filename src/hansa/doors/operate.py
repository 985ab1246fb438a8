"""The entry point of the `hansa` command."""

import gc

from hansa_client.commands.ending import run_and_end

COLLECTED_AFTER = (50_000, 20, 20)


def run() -> None:
    """Run the command line. Raises: SystemExit, always."""
    # Nearly all that a request leaves behind is gone by then, and what a start makes stays. With the usual thresholds a
    # fifth of a start went by looking through it, and the thousands of sockets of the live feed were walked through
    # several times a second.
    gc.set_threshold(*COLLECTED_AFTER)

    from hansa.doors.commands.presentation import run_command_line
    from hansa.doors.commands.program import app

    run_command_line(app)


def main() -> None:
    """Run the command line, and end the process."""
    run_and_end(run)


if __name__ == "__main__":
    main()
