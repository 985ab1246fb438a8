"""Schema of a Cluster of CloudNativePG, which refuses unknown members, from the definition that the operator installs.

`python -m tests.packages.cluster_schema DEFINITION VERSION`, where DEFINITION is its file postgresql.cnpg.io_clusters.yaml, writes the
schema of that version. The definition is of the CloudNativePG contributors, under the Apache License 2.0.
"""

import json
import sys
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).with_name("cloudnativepg")
SCHEMAS = sorted(FOLDER.glob("*.json"))
# Words for people, and what the server fills in.
LEFT_OUT = {"description", "default", "example"}


def schema_of(definition: dict[str, Any], version: str) -> dict[str, Any]:
    """The schema of a manifest that somebody writes: without a status, of one kind, with a name."""
    [served] = [one for one in definition["spec"]["versions"] if one["name"] == "v1"]
    found: dict[str, Any] = strict(served["schema"]["openAPIV3Schema"])
    members = found["properties"]
    del members["status"]
    members["apiVersion"] = {"const": "postgresql.cnpg.io/v1"}
    members["kind"] = {"const": "Cluster"}
    members["metadata"] = {"type": "object", "required": ["name"]}
    found["required"] = ["apiVersion", "kind", "metadata", "spec"]
    about = f"Cluster of CloudNativePG {version}. Copyright CloudNativePG contributors, Apache License 2.0."
    return {"$schema": "http://json-schema.org/draft-07/schema#", "$comment": about, **found}


def strict(part: Any) -> Any:
    """A part of the definition as JSON Schema; an object with stated members has no others, as the strict check of a server wants it."""
    if isinstance(part, list):
        return [strict(one) for one in part]
    if not isinstance(part, dict):
        return part
    kept = {name: value for name, value in part.items() if name not in LEFT_OUT and name[:2] != "x-"}
    found = {
        name: {member: strict(one) for member, one in value.items()}
        if name == "properties"
        else strict(value)
        for name, value in kept.items()
    }
    if part.get("x-kubernetes-int-or-string"):
        # The branches of its `anyOf` have one type each.
        return {**found, "type": ["integer", "string"]}
    if "properties" in found and not part.get("x-kubernetes-preserve-unknown-fields"):
        found["additionalProperties"] = False
    return found


if __name__ == "__main__":
    written = json.dumps(schema_of(yaml.safe_load(Path(sys.argv[1]).read_text()), sys.argv[2]))
    (FOLDER / f"cluster-{sys.argv[2]}.json").write_text(f"{written}\n")
