"""Manifests with a cluster of CloudNativePG, by the schema of the lowest version that has all their members and of a new one."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.packages.cluster_schema import SCHEMAS
from tests.packages.release_files import ROOT
from tests.packages.test_chart import CHART, VERSIONS, WITH_EVERYTHING, of_kind, stated
from tests.packages.tools import TOOLS, render, schema_errors

EXAMPLE = ROOT / "deploy" / "ha" / "cloudnativepg.yaml"


@pytest.fixture(scope="module", autouse=True)
def tools() -> None:
    TOOLS.ready()


def example() -> dict[str, Any]:
    return render(EXAMPLE, {}, VERSIONS)


def of_chart(instances: int) -> dict[str, Any]:
    """The values with everything, and so many instances of the database."""
    asked = {"enabled": True, "storageClass": "fast", "instances": instances}
    return render(CHART, {**stated(), **WITH_EVERYTHING, "cloudnativepg": asked})


def errors(cluster: dict[str, Any], schema: Path, directory: Path) -> str:
    (directory / "cluster.json").write_text(json.dumps(cluster))
    return schema_errors(schema, directory / "cluster.json")


def test_the_lowest_version_is_the_one_that_example_and_guide_name():
    lowest = SCHEMAS[0].stem.removeprefix("cluster-").rpartition(".")[0]
    assert f"CloudNativePG {lowest} or later" in EXAMPLE.read_text()
    assert f"CloudNativePG {lowest} or later" in (ROOT / "docs/guides/kubernetes.md").read_text()
    assert len(SCHEMAS) > 1


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda file: file.stem)
def test_a_cluster_has_the_members_that_a_version_of_the_operator_knows(schema: Path, tmp_path: Path):
    for found in (example(), of_chart(1), of_chart(3)):
        assert errors(of_kind(found["manifests"], "Cluster"), schema, tmp_path) == ""


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda file: file.stem)
def test_a_wrong_member_or_value_of_a_cluster_is_refused(schema: Path, tmp_path: Path):
    cluster = of_kind(example()["manifests"], "Cluster")
    synchronous = cluster["spec"]["postgresql"]["synchronous"]
    for wrong in ({"dataDurabilty": "required"}, {"dataDurability": "some"}, {"number": "one"}):
        cluster["spec"]["postgresql"]["synchronous"] = {**synchronous, **wrong}
        assert next(iter(wrong)) in errors(cluster, schema, tmp_path)


def test_the_machines_of_the_example_are_valid_for_three_versions_of_kubernetes():
    assert example()["errors"] == []
    assert sorted(one["kind"] for one in example()["manifests"]) == [
        "Cluster",
        "Deployment",
        "PodDisruptionBudget",
    ]
