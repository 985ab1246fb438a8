"""The foundation's own part: the checks of callers that rooms fill, the limits of requests, and its jobs."""

from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.jobs import forget_dead_jobs, mail_queue, sweep, sweep_of
from hansa.foundation.plumbing.process.measurements import MEASURE
from hansa.foundation.plumbing.process.periodic_tasks import PeriodicTask
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.room import Room
from hansa.foundation.plumbing.storage.backup_record import read_backup_record
from hansa.foundation.plumbing.telemetry.metrics import backup_age_seconds
from hansa.foundation.plumbing.web import idempotency, limits
from hansa.foundation.plumbing.web.caller import (
    AGENT_CHECK,
    AGENT_REFUSED,
    AGENT_SIGN_IN,
    DEVELOPER_CHECK,
    IS_DEVELOPER_SUSPENDED,
    LAST_READ_AGENT,
    LICENCE_CHECK,
    PASSWORD_SETTER_CHECK,
    SERVICE_CHECK,
    SPENT_UNDER_GRANTS,
)
from hansa.foundation.plumbing.web.peer_caller import PEER_CHECK


async def _show_backup_age(runtime: Runtime) -> None:
    if record := await runtime.database.query(read_backup_record):
        backup_age_seconds.set(record.age_seconds)


PLUMBING = Room(
    name="plumbing",
    jobs=(
        mail_queue.MAIL,
        parameters.EFFECTS,
        sweep_of(
            "idempotency: forget expired answers", 60, idempotency.HAS_EXPIRED, idempotency.forget_expired
        ),
        sweep("limits: forget idle buckets", 600, limits.forget_idle_buckets),
        sweep("jobs: forget dead jobs", 3600, forget_dead_jobs),
        sweep_of(
            "mail: enqueue what an older version wrote",
            60,
            mail_queue.HAS_MAIL_WITHOUT_JOB,
            mail_queue.enqueue_mails_without_job,
            once_a_turn=True,
        ),
    ),
    rounds=(
        PeriodicTask("backup: show the age of the newest one", 15, _show_backup_age),
        MEASURE,
        parameters.FOLLOW,
    ),
    wakes={parameters.CHANNEL: parameters.notified},
    metrics=(backup_age_seconds,),
    sealed=(mail_queue.SEALED_MAILS,),
    offers=(
        DEVELOPER_CHECK,
        AGENT_CHECK,
        AGENT_REFUSED,
        AGENT_SIGN_IN,
        LAST_READ_AGENT,
        PASSWORD_SETTER_CHECK,
        LICENCE_CHECK,
        SERVICE_CHECK,
        SPENT_UNDER_GRANTS,
        PEER_CHECK,
        IS_DEVELOPER_SUSPENDED,
        parameters.TAKES_EFFECT,
    ),
)
