"""Programs that judge the files of a deployment and make the SBOM: `python -m tests.packages.tools` installs them."""

import json
from pathlib import Path
from typing import Any

from tests.pinned_tools import PinnedTools

HERE = Path(__file__).parent
INSTALLERS = PinnedTools("installers", None, "pipx and uv")
TOOLS = PinnedTools("deployment", None, "Helm, the schemas of Kubernetes and Compose, and the maker of SBOMs")


def render(chart: Path, values: dict[str, Any], versions: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the findings of lint, the refusal of rendering, the manifests, and the errors of each version of Kubernetes."""
    done = TOOLS.run([TOOLS.python, HERE / "rendered_chart.py", chart, json.dumps(values), *versions])
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def schema_errors(schema: str | Path, file: Path) -> str:
    """Return the errors of a file by a schema that check-jsonschema brings, or by one in a file."""
    program = TOOLS.python.with_name("check-jsonschema")
    option = "--schemafile" if isinstance(schema, Path) else "--builtin-schema"
    done = TOOLS.run([program, option, schema, file])
    return "" if done.returncode == 0 else done.stdout + done.stderr


def bill_of_materials(environment: Path, project: Path, file: Path) -> dict[str, Any]:
    """Write the CycloneDX document of what is installed in an environment; returns it."""
    program = TOOLS.python.with_name("cyclonedx-py")
    form = [
        "--output-reproducible",
        "--spec-version",
        "1.6",
        "--output-format",
        "JSON",
        "--output-file",
        file,
    ]
    done = TOOLS.run([program, "environment", "--pyproject", project, *form, environment])
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(file.read_text())
    return document


if __name__ == "__main__":
    TOOLS.ready()
