"""The PostgreSQL that a registry runs inside its own data directory.

- One service per data directory, whatever its database, enforced by a file lock that ends with the process.
- The server listens on a Unix socket only and never runs as root.
- A killed service leaves its server running; the next start adopts it.
- A killed server is started again by `watch`; nothing acknowledged is lost.
"""

from .errors import DataDirectoryInUse, EmbeddedPostgresFailed, EmbeddedPostgresNotRunning, NoRegistry
from .server import EmbeddedPostgres, has_cluster, held, require_cluster, running_dsn, socket_directory

__all__ = [
    "DataDirectoryInUse",
    "EmbeddedPostgres",
    "EmbeddedPostgresFailed",
    "EmbeddedPostgresNotRunning",
    "NoRegistry",
    "has_cluster",
    "held",
    "require_cluster",
    "running_dsn",
    "socket_directory",
]
