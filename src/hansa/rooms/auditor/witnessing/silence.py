"""Metric of the witnesses of the own log that did not cosign when they were last asked."""

from hansa.foundation.plumbing.process.periodic_tasks import PeriodicTask
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.telemetry.metrics import witness_silent

from .asking import list_log_witnesses

EVERY_SECONDS = 60.0
FIRST_SECONDS = 0.1

_NAMES: Slot[set[str]] = Slot("auditor: witnesses in the metrics", build=lambda _: set())


async def show_silent_witnesses(runtime: Runtime) -> None:
    """Set the gauge of each witness; one that is no longer asked is not silent."""
    found = await runtime.database.read(lambda tx: list_log_witnesses(tx, runtime.settings))
    names = _NAMES.of(runtime)
    for name in names - {witness.name for witness, _ in found}:
        witness_silent.labels(name).set(0)
    for witness, last in found:
        witness_silent.labels(witness.name).set(last is not None and last.trouble is not None)
        names.add(witness.name)


SHOW_SILENT_WITNESSES = PeriodicTask(
    "auditor: show silent witnesses", FIRST_SECONDS, show_silent_witnesses, lambda _: EVERY_SECONDS
)
