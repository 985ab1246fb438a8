"""Write certificates and keys to files for the operator: of a service, and of the registry itself for a proxy."""

from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile

from hansa.foundation.plumbing.keys.authority import Svid


def require_writable(directory: Path) -> None:
    """Before anything is issued: the directory is there, or is made, and takes files. Raises: OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    TemporaryFile(dir=directory).close()


def write_credentials(name: str, svid: Svid, directory: Path) -> dict[str, Path]:
    """Write the files, each whole or not at all; the key is for its owner alone. Raises: OSError."""
    files = {
        "certificate": directory / f"{name}.pem",
        "key": directory / f"{name}-key.pem",
        "bundle": directory / "bundle.pem",
    }
    _write(files["key"], svid.key_pem, mode=0o600)
    _write(files["certificate"], svid.certificate_pem, mode=0o644)
    _write(files["bundle"], svid.bundle_pem, mode=0o644)
    return files


def _write(path: Path, content: str, *, mode: int) -> None:
    with NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        draft = Path(file.name)
        try:
            file.write(content)
            file.flush()
            draft.chmod(mode)
            draft.replace(path)
        except OSError:
            draft.unlink()
            raise
