"""The command line for users: `hansa-client`, and the same commands in `hansa` where the server is installed."""

INTERRUPTED = 130


def run() -> None:
    """Run the command line. Raises: SystemExit, always."""
    try:
        from .program import run_command_line

        run_command_line()
    except KeyboardInterrupt:
        # Before a command has begun; what a command does then, it decides itself.
        raise SystemExit(INTERRUPTED) from None


def main() -> None:
    """Run `hansa-client`, and end the process."""
    from .ending import run_and_end

    run_and_end(run)
