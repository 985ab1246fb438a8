"""Troubles of the embedded PostgreSQL; each message is one sentence for the operator."""

from pathlib import Path


class EmbeddedPostgresFailed(Exception):
    """The embedded PostgreSQL could not be brought up or reached."""


class EmbeddedPostgresNotRunning(EmbeddedPostgresFailed):
    """No embedded PostgreSQL runs in this data directory."""


class DataDirectoryInUse(EmbeddedPostgresFailed):
    """Another live service holds this data directory."""


class NoRegistry(EmbeddedPostgresFailed):
    """No registry was ever started in this data directory."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(f"no registry in {data_dir}; run `hansa serve --data-dir {data_dir}` to create one")
