"""Archive of a project: the same files give the same bytes.

- Entries lie in the order of their names, bear one fixed date and one mode, and are stored without compression, so that no library decides a byte.
- Names of files come from the templates alone.
"""

import io
import zipfile
from collections.abc import Mapping

PROJECT_FILE = "hansa-agent.zip"
PROJECT_TYPE = "application/zip"
DIRECTORY = "hansa-agent"
LONG_AGO = (1980, 1, 1, 0, 0, 0)
UNIX = 3
MODE = 0o100644
SIZE_MAX_BYTES = 200 * 1000


def archive_of(files: Mapping[str, bytes]) -> bytes:
    """The files below one directory."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as opened:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{DIRECTORY}/{name}", LONG_AGO)
            entry.create_system = UNIX
            entry.external_attr = MODE << 16
            opened.writestr(entry, content)
    content = archive.getvalue()
    assert len(content) <= SIZE_MAX_BYTES, "the limits of the texts bound the archive"
    return content
