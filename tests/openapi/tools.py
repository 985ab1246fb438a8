"""The validators and the client generator: `python -m tests.openapi.tools` installs them."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.pinned_tools import PinnedTools

HERE = Path(__file__).parent


class Tools(PinnedTools):
    """Places of the tools, and calls of them."""

    def redocly(self, document: Path) -> list[str]:
        """Return the findings of Redocly in a document."""
        script = self.home / "node_modules" / "@redocly" / "cli" / "bin" / "cli.js"
        findings = self._found(
            script, "lint", document, "--config", HERE / "redocly.yaml", "--format", "json"
        )
        return [
            f"{one['severity']} {one['ruleId']}: {one['message']} {one['location'][0]['pointer']}"
            for one in findings["problems"]
        ]

    def spectral(self, document: Path) -> list[str]:
        """Return the findings of Spectral in a document."""
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
        done = self.run(
            [self.python, "-m", "openapi_python_client", *command, "--config", HERE / "client.yaml"]
        )
        return "" if done.returncode == 0 else done.stdout + done.stderr

    def use_client(self, package: Path, address: str) -> subprocess.CompletedProcess[str]:
        """Run use_client.py beside the generated package, against the registry at this address."""
        return self.run([self.python, HERE / "use_client.py", address], PYTHONPATH=str(package.parent))

    def _found(self, script: Path, *arguments: str | Path) -> Any:
        done = self.run([self.node, script, *arguments])
        assert done.stdout.strip(), done.stderr
        return json.loads(done.stdout)


def installed() -> Tools:
    """The tools, installed if they are not yet, or not those of the lock files."""
    tools = Tools("openapi", HERE, "the OpenAPI validators and the client generator")
    tools.ready()
    return tools


if __name__ == "__main__":
    installed()
