"""The dashboard of deploy/observability, written from a table: rows of panels, each with its queries.

`python -m tests.house.dashboard` writes the file, and the table of its panels in the guide (`make dashboard`).
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FILE = ROOT / "deploy" / "observability" / "dashboard.json"
GUIDE = ROOT / "docs" / "guides" / "observing.md"
TABLE = re.compile(r"\| Row \| Panel \|.*?\n\n", re.DOTALL)
WIDTH, HEIGHT = 24, 8
SOURCE = {"type": "prometheus", "uid": "${source}"}
SELECTED = 'job="hansa", instance=~"$instance"'


DRAWN = {"stat": "number", "timeseries": "lines over time"}
UNITS = {
    "none": "",
    "s": ", seconds",
    "reqps": ", requests a second",
    "ops": ", a second",
    "percentunit": ", share in percent",
}


@dataclass(frozen=True)
class Query:
    """A query of PromQL; `S` in it stands for the selected instances. `legend` may name labels in braces."""

    expr: str
    legend: str = "{{instance}}"


@dataclass(frozen=True)
class Panel:
    """One panel; `unit` is one of Grafana's."""

    title: str
    unit: str
    queries: tuple[Query, ...]
    kind: str = "timeseries"


def _one(title: str, unit: str, expr: str, legend: str = "{{instance}}", kind: str = "timeseries") -> Panel:
    return Panel(title, unit, (Query(expr, legend),), kind)


def _quantiles(title: str, metric: str, labels: str = "") -> Panel:
    return Panel(
        title,
        "s",
        tuple(
            Query(f"histogram_quantile({q}, sum by (le) (rate({metric}_bucket{{{labels}S}}[5m])))", f"p{q:g}")
            for q in (0.5, 0.9, 0.99)
        ),
    )


ROWS: dict[str, tuple[Panel, ...]] = {
    "Health": (
        _one("Up", "none", "up{S}", kind="stat"),
        _one("Database takes writes", "none", "hansa_database_primary{S}", kind="stat"),
        _one("Supply delta", "none", "hansa_supply_delta_minor{S}", kind="stat"),
        _one("Audit", "none", "hansa_audit_status{S}", kind="stat"),
        _one("Age of the audit", "s", "time() - hansa_audit_checked_timestamp_seconds{S}", kind="stat"),
        _one("Version", "none", "hansa_build_info{S}", "{{version}}", kind="stat"),
    ),
    "Requests": (
        _one(
            "Requests by route",
            "reqps",
            "topk(10, sum by (route) (rate(hansa_http_requests_total{S}[5m])))",
            "{{route}}",
        ),
        _one(
            "Errors by route",
            "reqps",
            'sum by (route, status) (rate(hansa_http_requests_total{status=~"5..", S}[5m])) > 0',
            "{{route}} {{status}}",
        ),
        _quantiles("Duration of requests", "hansa_http_request_seconds"),
        Panel(
            "Requests in progress, connections ended",
            "none",
            (
                Query("hansa_http_requests_under_way{S}", "in progress"),
                Query("sum by (reason) (rate(hansa_connections_cut_off_total{S}[5m]))", "{{reason}} /s"),
            ),
        ),
    ),
    "Ledger": (
        _one(
            "Transactions by type",
            "ops",
            "sum by (type) (rate(hansa_ledger_transactions_total{S}[5m])) > 0",
            "{{type}}",
        ),
        _quantiles(
            "Duration of transfers",
            "hansa_http_request_seconds",
            'method="POST", route="/api/v1/teg/transfer", ',
        ),
        _quantiles("Duration of batches", "hansa_ledger_batch_seconds"),
        Panel(
            "Batches",
            "none",
            (
                Query(
                    "rate(hansa_ledger_batch_size_sum{S}[5m]) / rate(hansa_ledger_batch_size_count{S}[5m])",
                    "transfers in a batch",
                ),
                Query("hansa_ledger_transfers_waiting{S}", "waiting"),
            ),
        ),
    ),
    "Database": (
        Panel(
            "Connections",
            "none",
            (
                Query("hansa_database_connections_in_use{S}", "in use {{instance}}"),
                Query("hansa_database_connections_max{S}", "most {{instance}}"),
            ),
        ),
        Panel(
            "Waiting for a connection",
            "none",
            (
                Query("rate(hansa_database_connection_waits_total{S}[5m])", "waits /s"),
                Query("rate(hansa_database_connection_wait_seconds_total{S}[5m])", "seconds /s"),
            ),
        ),
        _quantiles("Duration of commits", "hansa_database_commit_seconds"),
        Panel(
            "Synchronous standbys",
            "none",
            (
                Query("hansa_database_synchronous_replication{S}", "wanted"),
                Query("hansa_database_synchronous_standbys{S}", "present"),
            ),
        ),
    ),
    "Background work": (
        _one("Failing jobs", "none", "hansa_job_failing{S} > 0", "{{exported_job}}"),
        _one("Age of the oldest due job", "s", "hansa_jobs_oldest_seconds{S} > 0", "{{exported_job}}"),
        Panel(
            "Given up",
            "none",
            (
                Query("hansa_jobs_dead{S} > 0", "{{exported_job}}"),
                Query("sum by (reactor) (hansa_reactions_set_aside_total{S}) > 0", "{{reactor}}"),
            ),
        ),
        _one("Support: age of the oldest", "s", "hansa_support_oldest_seconds{S}", "{{kind}}"),
        Panel(
            "Mail, webhooks, calls of other hosts",
            "ops",
            (
                Query("sum by (outcome) (rate(hansa_mails_total{S}[5m]))", "mail {{outcome}}"),
                Query("sum by (outcome) (rate(hansa_webhook_tries_total{S}[5m]))", "webhook {{outcome}}"),
                Query("sum by (outcome) (rate(hansa_outgoing_calls_total{S}[5m])) > 0", "call {{outcome}}"),
            ),
        ),
    ),
    "Federation, search and disk": (
        _one("Silent witnesses", "none", "hansa_log_witness_silent{S}", "{{witness}}"),
        _one(
            "Certificates: time left",
            "s",
            "hansa_certificate_expires_timestamp_seconds{S} - time()",
            "{{certificate}}",
        ),
        _one("Age of the search index", "s", "time() - hansa_search_index_current_timestamp_seconds{S}"),
        _one("Age of the newest backup", "s", "hansa_backup_age_seconds{S}"),
        _one("Disk free", "percentunit", "hansa_disk_free_bytes{S} / hansa_disk_size_bytes{S}"),
    ),
}


def dashboard() -> dict[str, Any]:
    """The dashboard as Grafana imports it."""
    return {
        "title": "Hansa",
        "uid": "hansa-registry",
        "tags": ["hansa"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [_source(), _instances()]},
        "panels": list(_panels()),
    }


def expressions() -> list[str]:
    """Every query, without the selection of instances."""
    return [query.expr for panels in ROWS.values() for panel in panels for query in panel.queries]


def text() -> str:
    """The content of the file."""
    return json.dumps(dashboard(), indent=2) + "\n"


def guide(former: str) -> str:
    """The text of the guide with the table of this dashboard in it."""
    rows = ["| Row | Panel | Drawn | Lines or numbers |", "|---|---|---|---|"]
    rows += [
        f"| {title if panel is panels[0] else ''} | {panel.title} | {DRAWN[panel.kind]}{UNITS[panel.unit]} | {_lines(panel)} |"
        for title, panels in ROWS.items()
        for panel in panels
    ]
    return TABLE.sub(lambda _: "\n".join([*rows, "", ""]), former, count=1)


def _lines(panel: Panel) -> str:
    """The legends of a panel, each label as the word that stands for its values."""
    legends = [re.sub(r"\{\{(?:exported_)?(\w+)\}\}", r"*\1*", query.legend) for query in panel.queries]
    return ", ".join(legends)


def _panels() -> Iterator[dict[str, Any]]:
    y = number = 0
    for title, panels in ROWS.items():
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": title,
            "collapsed": False,
            "gridPos": _place(0, y, WIDTH, 1),
        }
        y += 1
        width = WIDTH // len(panels)
        for column, panel in enumerate(panels):
            number += 1
            yield _drawn(panel, number, _place(column * width, y, width, HEIGHT))
        y += HEIGHT


def _drawn(panel: Panel, number: int, place: dict[str, int]) -> dict[str, Any]:
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "datasource": SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": SOURCE,
                "expr": _selecting(query.expr),
                "legendFormat": query.legend,
            }
            for index, query in enumerate(panel.queries)
        ],
    }


def _selecting(expr: str) -> str:
    return expr.replace("S}", SELECTED + "}")


def _place(x: int, y: int, width: int, height: int) -> dict[str, int]:
    return {"x": x, "y": y, "w": width, "h": height}


def _source() -> dict[str, Any]:
    return {"name": "source", "type": "datasource", "query": "prometheus", "label": "Prometheus"}


def _instances() -> dict[str, Any]:
    return {
        "name": "instance",
        "type": "query",
        "datasource": SOURCE,
        "query": 'label_values(up{job="hansa"}, instance)',
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "current": {"text": "All", "value": "$__all"},
    }


if __name__ == "__main__":
    FILE.write_text(text())
    GUIDE.write_text(guide(GUIDE.read_text()))
