"""The alerts and the dashboard of deploy/observability: valid, tested, and each with a runbook."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests import debian_packages
from tests.house import dashboard

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "observability"
RULES, TESTS = FOLDER / "rules.yml", FOLDER / "rules.test.yml"
LIMIT_SECONDS = 120


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    program = debian_packages.unpack("prometheus").program("promtool")
    return subprocess.run(
        [program, *arguments], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False, cwd=FOLDER
    )


def alerts() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"] if "alert" in rule]


def sections(guide: Path) -> set[str]:
    """The addresses of the headings of a guide."""
    headings = re.findall(r"^#+ (.+)$", guide.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_rules_are_valid():
    checked = promtool("check", "rules", RULES)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_each_alert_fires_on_its_condition_and_not_before():
    tested = promtool("test", "rules", TESTS)
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_each_alert_has_a_test():
    tested = {test["name"] for test in yaml.safe_load(TESTS.read_text())["tests"]}
    assert tested == {alert["alert"] for alert in alerts()}


def test_each_alert_names_a_section_of_a_runbook_that_exists():
    for alert in alerts():
        guide, _, section = alert["annotations"]["runbook"].partition("#")
        assert section in sections(ROOT / guide), alert["alert"]


def test_each_alert_is_named_in_the_guide_to_observing():
    guide = (ROOT / "docs" / "guides" / "observing.md").read_text()
    assert [alert["alert"] for alert in alerts() if alert["alert"] not in guide] == []


def test_the_dashboard_is_the_one_of_its_table():
    assert dashboard.FILE.read_text() == dashboard.text(), "make dashboard"
    stated = dashboard.GUIDE.read_text()
    assert dashboard.guide(stated) == stated, "make dashboard"
    panels = [panel.title for panels in dashboard.ROWS.values() for panel in panels]
    assert [title for title in panels if f"| {title} |" not in stated] == []


def test_each_query_of_the_dashboard_is_valid(tmp_path: Path):
    queries = [
        target["expr"].replace("$instance", ".*")
        for panel in dashboard.dashboard()["panels"]
        for target in panel.get("targets", [])
    ]
    rules = [{"record": f"query:{number}", "expr": expr} for number, expr in enumerate(queries)]
    file = tmp_path / "queries.yml"
    file.write_text(json.dumps({"groups": [{"name": "queries", "rules": rules}]}))
    checked = promtool("check", "rules", file)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert len(queries) >= 30
