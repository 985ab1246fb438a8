"""Hand a service's certificate and key to the operator, as files."""

from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile

from hansa.rooms import federation


def require_writable(directory: Path) -> None:
    """Before anything is issued: the directory is there, or is made, and takes files. Raises: OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    TemporaryFile(dir=directory).close()


def write_credentials(enrolled: federation.EnrolledService, directory: Path) -> dict[str, Path]:
    """Write the files, each whole or not at all; the key is for its owner alone. Raises: OSError."""
    files = {
        "certificate": directory / f"{enrolled.name}.pem",
        "key": directory / f"{enrolled.name}-key.pem",
        "bundle": directory / "bundle.pem",
    }
    _write(files["key"], enrolled.svid.key_pem, mode=0o600)
    _write(files["certificate"], enrolled.svid.certificate_pem, mode=0o644)
    _write(files["bundle"], enrolled.svid.bundle_pem, mode=0o644)
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
