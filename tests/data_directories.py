"""Data directories of registries that rest: tests copy small files, in a few milliseconds."""

import os
import re
import subprocess
from pathlib import Path

from hansa.foundation.plumbing.storage.embedded.binaries import installed

LOG_IN_USE = re.compile(r"^Latest checkpoint's REDO WAL file: +(\w+)$", re.MULTILINE)


def make_small(data_dir: Path) -> None:
    """Remove half of the bytes to copy from a stopped registry: the write-ahead log beyond its end."""
    cluster = data_dir / "postgres"
    shown = subprocess.run(
        [installed() / "bin" / "pg_controldata", cluster],
        env={"LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=True,
    )
    in_use = LOG_IN_USE.search(shown.stdout)
    assert in_use, shown.stdout
    for segment in (cluster / "pg_wal").glob("[0-9A-F]" * 24):
        if segment.name != in_use[1]:
            segment.unlink()
            continue
        written, size = segment.read_bytes().rstrip(b"\0"), segment.stat().st_size
        # The rest is a hole, which reads as zeros and is copied as a hole.
        segment.write_bytes(written)
        os.truncate(segment, size)


def copy_data_directory(original: Path, copy: Path) -> None:
    """Copy it with its owners: a start gives a cluster of root to the account of the server, file by file."""
    subprocess.run(["cp", "-a", original, copy], check=True)
