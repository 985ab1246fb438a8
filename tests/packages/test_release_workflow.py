"""The workflow of a release: each action is named by its commit, and the image is built for both platforms."""

import re

import pytest
import yaml

from tests.packages.release_files import ROOT

WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"
USES = re.compile(r"^ +-? *uses: (.*)$", re.MULTILINE)
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def unpinned(workflow: str) -> list[str]:
    """Return the actions of a workflow that are not named by a commit with the tag of that commit behind it."""
    return [one for one in USES.findall(workflow) if not PINNED.fullmatch(one)]


def test_each_action_of_a_workflow_is_named_by_its_commit():
    found = {file.name: file.read_text() for file in WORKFLOW.parent.iterdir()}
    assert {name: wrong for name, text in found.items() if (wrong := unpinned(text))} == {}
    used = USES.findall(WORKFLOW.read_text())
    assert len(used) >= 8
    # One commit for one action: two would be two versions of it.
    assert len({*used}) == len({one.partition("@")[0] for one in used})


@pytest.mark.parametrize(
    "reference",
    [
        "actions/checkout@v4",
        "actions/checkout@main",
        "actions/checkout@3d3c42e # v7.0.1",
        f"actions/checkout@{'a' * 40}",
    ],
)
def test_an_action_that_is_named_by_a_tag_or_without_its_tag_is_refused(reference: str):
    assert unpinned(f"    steps:\n      - uses: {reference}\n") == [reference]


def test_the_image_of_a_release_is_built_and_started_for_both_platforms():
    steps = yaml.safe_load(WORKFLOW.read_text())["jobs"]["image"]["steps"]
    [built] = [step for step in steps if "build-push-action" in step.get("uses", "")]
    platforms = built["with"]["platforms"].split(",")
    assert platforms == ["linux/amd64", "linux/arm64"]
    [started] = [step["run"] for step in steps if "docker run" in step.get("run", "")]
    assert f"for platform in {' '.join(platforms)}; do" in started
    assert any("setup-qemu-action" in step.get("uses", "") for step in steps)


def test_each_expression_names_a_context_that_exists_and_a_step_before_it():
    jobs = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    for job in jobs.values():
        assert job.get("needs", "test") in jobs
        known: set[str] = set()
        for step in job["steps"]:
            for expression in re.findall(r"\$\{\{ (.*?) \}\}", str(step)):
                context, *names = expression.split(".")
                assert context in {"github", "steps"}, expression
                if context == "steps":
                    assert names[0] in known, expression
                    assert names[1] == "outputs", expression
            known.add(step.get("id", ""))
