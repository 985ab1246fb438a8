"""The command line for users: `hansa-client`, and the same commands in `hansa` where the server is installed."""


def main() -> None:
    """Run `hansa-client`."""
    from .program import run

    run()
