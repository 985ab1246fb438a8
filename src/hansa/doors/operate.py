"""The entry point of the `hansa` command."""

import gc

COLLECTED_AFTER = (50_000, 20, 20)


def main() -> None:
    """Run the command line."""
    # Nearly all that a request leaves behind is gone by then, and what a start makes stays. With the usual thresholds a
    # fifth of a start went by looking through it, and the thousands of sockets of the live feed were walked through
    # several times a second.
    gc.set_threshold(*COLLECTED_AFTER)

    from hansa.doors.commands.presentation import run_command_line
    from hansa.doors.commands.program import app

    run_command_line(app)


if __name__ == "__main__":
    main()
