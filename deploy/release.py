"""Make the files of a release: `python deploy/release.py DIRECTORY [PROGRAM]`.

- The wheel and the sdist of hansa-verify, hansa-client and hansa. Two builds of one commit have the same bytes.
- constraints.txt: the exact versions that were tested, from requirements/service.txt. `pip install -c constraints.txt` installs these.
- hansa.cdx.json, where PROGRAM is cyclonedx-py: the SBOM (CycloneDX) of an environment with these wheels and versions.
- SHA256SUMS, which `sha256sum --check` reads.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import venv
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[1]
DISTRIBUTIONS = (ROOT / "verify", ROOT / "client", ROOT)
LOCKED = re.compile(r"^([a-z0-9-]+==[^\s;]+)( ; [^\\\n]*[^\\\s])?", re.MULTILINE)
LOCKED_FILE = ROOT / "requirements" / "service.txt"


def main(directory: Path, maker_of_sbom: str = "") -> None:
    """Replace the directory by the files of the present checkout."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    for project in DISTRIBUTIONS:
        build(project, directory)
    (directory / "constraints.txt").write_text(constraints(LOCKED_FILE.read_text()))
    if maker_of_sbom:
        make_sbom(directory, maker_of_sbom)
    names = sorted(file.name for file in directory.iterdir())
    sums = [f"{sha256((directory / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (directory / "SHA256SUMS").write_text("".join(sums))


def build(project: Path, directory: Path) -> None:
    """Build the wheel and the sdist of a project, with the build backend of this environment."""
    command = [sys.executable, "-m", "hatchling", "build", "--directory", directory.resolve()]
    subprocess.run([*command, "--target", "sdist", "--target", "wheel"], cwd=project, check=True)


def constraints(locked: str) -> str:
    """Return each version of a lock file with its marker and without its hashes; pip takes no hashes for wheels of a directory."""
    return "".join(f"{version}{marker}\n" for version, marker in LOCKED.findall(locked))


def make_sbom(directory: Path, program: str) -> None:
    """Install the wheels with the versions of constraints.txt, and write what is then installed."""
    with tempfile.TemporaryDirectory(prefix="hansa-sbom-") as environment:
        venv.create(environment, symlinks=True)
        pip = [sys.executable, "-m", "pip", "--python", f"{environment}/bin/python", "install", "--quiet"]
        wheels = sorted(directory.glob("*.whl"))
        subprocess.run([*pip, "--constraint", directory / "constraints.txt", *wheels], check=True)
        # It names the directory of this build.
        for file in Path(environment).glob("lib/python*/site-packages/hansa*.dist-info/direct_url.json"):
            file.unlink()
        form = ["--output-reproducible", "--spec-version", "1.6", "--output-format", "JSON"]
        file = ["--output-file", directory / "hansa.cdx.json"]
        command = [program, "environment", "--pyproject", ROOT / "pyproject.toml", *form, *file]
        subprocess.run([*command, f"{environment}/bin/python"], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
