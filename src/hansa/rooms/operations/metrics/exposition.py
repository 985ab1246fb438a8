"""Metrics of an agent as the text of Prometheus: counters since figures are kept, and the times of a range.

The labels are the DID of the agent, and of a time its range and quantile. Values are floating-point numbers: amounts are exact in JSON alone.
"""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from hansa.foundation.values.money import UNIT

from . import rules
from .records import Figures, Metrics

QUANTILES = (0.5, 0.95)
PREFIX = "hansa_agent_"
SETTLE_SECONDS = f"{PREFIX}settle_seconds"
COUNTERS = {
    "paid_calls": "Payments of calls that were settled, made and received.",
    "failed": "Payments of calls that failed.",
    "earned": "Units received.",
    "spent": "Units paid, without fees.",
    "fees": "Units paid as fees.",
    "api_requests": "Requests of the agent that were answered.",
    "api_errors": "Requests of the agent that were answered with a status of 400 and above.",
    "checks": "Health checks of the agent.",
    "checks_alive": "Health checks that the agent answered.",
    "log_errors": "Entries of the level ERROR in the log of the agent.",
}
_AMOUNTS = frozenset({"earned", "spent", "fees"})


class _Exposed(Collector):
    def __init__(self, metrics: Metrics, ever: Figures) -> None:
        self._metrics, self._ever = metrics, ever

    def collect(self) -> Iterator[Metric]:
        did = self._metrics.agent_did
        for name, text in COUNTERS.items():
            counter = CounterMetricFamily(PREFIX + name, text, labels=["agent"])
            value = getattr(self._ever, name)
            counter.add_metric([did], value / UNIT if name in _AMOUNTS else value)
            yield counter
        yield self._settle_times(did)

    def _settle_times(self, did: str) -> Metric:
        gauge = GaugeMetricFamily(
            SETTLE_SECONDS,
            "Time from authorization to settlement of payments in the range, within 4.5 %.",
            labels=["agent", "range", "quantile"],
        )
        for share in QUANTILES:
            taken = rules.quantile(self._metrics.total.settle_times, share)
            if taken is not None:
                gauge.add_metric([did, self._metrics.time_range, str(share)], taken / 1000)
        return gauge


def exposed(metrics: Metrics, ever: Figures) -> bytes:
    """The text of Prometheus."""
    registry = CollectorRegistry()
    registry.register(_Exposed(metrics, ever))
    return generate_latest(registry)
