"""Store that a URL names."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from .entry import Store

SQLITE_SCHEMES = frozenset({"sqlite", "file"})
POSTGRESQL_SCHEMES = frozenset({"postgresql", "postgres"})
REDIS_SCHEMES = frozenset({"redis", "rediss", "valkey", "valkeys", "unix"})


def open_store(url: str | Path, *, machines: int = 1) -> Store:
    """The store that `url` names: a path or `sqlite:///PATH`, `postgresql://…`, `redis://…`; not yet opened.

    Raises: ValueError, also for a local file where the service runs on several machines.
    """
    scheme = "" if isinstance(url, Path) else urlsplit(url).scheme
    if scheme in POSTGRESQL_SCHEMES:
        from .postgresql import postgres_store

        return postgres_store(str(url))
    if scheme in REDIS_SCHEMES:
        from .redis import RedisStore

        return RedisStore(str(url).replace("valkey", "redis", 1) if scheme.startswith("valkey") else str(url))
    if scheme and scheme not in SQLITE_SCHEMES:
        raise ValueError(f"a store is a path, sqlite:, postgresql: or redis: URL, got the scheme {scheme!r}")
    return _local(Path(url) if not scheme else _path_of(str(url)), machines)


def _local(path: Path, machines: int) -> Store:
    from .sqlite import lies_on_the_network, sqlite_store

    remedy = "set the store to a PostgreSQL or Redis URL"
    if machines > 1:
        raise ValueError(f"{machines} machines cannot share the local file {path}: {remedy}")
    if lies_on_the_network(path):
        raise ValueError(f"{path} lies on a network file system, where SQLite's locks do not hold: {remedy}")
    return sqlite_store(path)


def _path_of(url: str) -> Path:
    """`sqlite:///relative.db` and `sqlite:////absolute.db`, as SQLAlchemy and others read them."""
    parts = urlsplit(url)
    if parts.netloc or len(parts.path) < len("/x"):
        raise ValueError(f"a SQLite store is written sqlite:///PATH, got {url!r}")
    return Path(unquote(parts.path[1:]))
