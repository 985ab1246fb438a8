"""The command line for users: `hansa-client`, and the same commands in `hansa` where the server is installed."""


def run() -> None:
    """Run the command line. Raises: SystemExit, always."""
    from .program import run_command_line

    run_command_line()


def main() -> None:
    """Run `hansa-client`, and end the process."""
    from .ending import run_and_end

    run_and_end(run)
