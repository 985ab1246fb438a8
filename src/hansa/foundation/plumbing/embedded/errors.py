"""Troubles of the embedded PostgreSQL; each message is one sentence for the operator."""


class EmbeddedPostgresFailed(Exception):
    """The embedded PostgreSQL could not be brought up or reached."""


class EmbeddedPostgresNotRunning(EmbeddedPostgresFailed):
    """No embedded PostgreSQL runs in this data directory."""


class DataDirectoryInUse(EmbeddedPostgresFailed):
    """Another live service holds this data directory."""
