"""What the process needs to know of the auditor."""

from hansa.foundation.plumbing.jobs import sweep
from hansa.foundation.plumbing.metrics import audit_status, supply_delta
from hansa.foundation.plumbing.periodic_tasks import PeriodicTask
from hansa.foundation.plumbing.room import Room, Routes

from .cycle import CYCLE_SECONDS, audit_when_due, show_last_audit
from .routes import router

ROOM = Room(
    name="auditor",
    routes=(Routes(2300, router),),
    jobs=(sweep("auditor: audit cycle", CYCLE_SECONDS, audit_when_due, one_snapshot=True),),
    rounds=(PeriodicTask("auditor: show the last audit", 15, show_last_audit),),
    settings=frozenset({"settlement_currency", "trust_domain"}),
    metrics=(audit_status, supply_delta),
)
