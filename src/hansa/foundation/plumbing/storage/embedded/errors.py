"""Troubles of the embedded PostgreSQL; each message is one sentence for the operator."""

from pathlib import Path


class EmbeddedPostgresFailed(Exception):
    """The embedded PostgreSQL could not be brought up or reached."""


class EmbeddedPostgresNotRunning(EmbeddedPostgresFailed):
    """No embedded PostgreSQL runs in this data directory."""


class DataDirectoryInUse(EmbeddedPostgresFailed):
    """Another live process holds this data directory: a service, or for a moment the command named here.

    `process` is empty in the moment in which the holder is not recorded yet.
    """

    def __init__(self, data_dir: Path, *, process: str, command: str) -> None:
        self.process, self.command = process, command
        holder, remedy = "another service", "stop it"
        if command:
            holder, remedy = f"`{command}`", "run this again when that has ended"
        super().__init__(
            f"The data directory {data_dir} is in use by {holder} (process {process or 'unknown'}); "
            f"{remedy} or choose another --data-dir."
        )


class NoRegistry(EmbeddedPostgresFailed):
    """No registry was ever started in this data directory."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(f"no registry in {data_dir}; run `hansa serve --data-dir {data_dir}` to create one")
