"""The job of an operator registry that reads its licence at the frame: issued, renewed, suspended or ended there.

Each reading is whole: a certificate that the frame issued anew, or whose state it changed, replaces the stored one, and the
registry card is signed anew in that commit.
"""

import structlog

from hansa.foundation.plumbing.jobs import Job, LeasedKind, PutOff, Retries
from hansa.foundation.plumbing.outgoing import Answer, Call, CallLimits
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry.metrics import operator_licence_readings_total
from hansa.rooms.federation import peers
from hansa.rooms.federation.identity import LOCAL_IDENTITY
from hansa.rooms.federation.licences import (
    AnsweredLicence,
    held_operator_licence,
    keep_operator_licence,
    publish_card,
)
from hansa.rooms.federation.operators import read_at_frame
from hansa.rooms.federation.peers import PeerRecord

PATH = "/api/v1/federation/licence/mine"
LIMITS = CallLimits(seconds=10.0, body_bytes=256 * 1024)
EVERY_SECONDS = 300.0
"""How late a suspension, or a certificate that was issued anew, shows on the card."""

_log = structlog.get_logger()


async def read_operator_licence(runtime: Runtime) -> None:
    """Read the licence at the frame and keep it. Without an answer the stored licence stays. Raises: PutOff."""

    async def ask(frame: PeerRecord) -> Answer:
        assert frame.end is not None, "a frame is known by its verified card"
        svid = await LOCAL_IDENTITY.of(runtime).svid("operator")
        # Connections of their own: they are made with another certificate than those of the registry.
        return await peers.PEER_CALLS.of(runtime).send(-frame.id, frame.end, svid, Call("GET", PATH), LIMITS)

    try:
        answered = await read_at_frame(runtime, ask, AnsweredLicence)
    except PutOff as error:
        operator_licence_readings_total.labels("not_read").inc()
        raise PutOff(f"the operator licence could not be read at the frame: {error}") from None
    state = await runtime.database.transaction(lambda tx: _kept(tx, runtime, answered))
    operator_licence_readings_total.labels(state).inc()


async def _kept(tx: Tx, runtime: Runtime, answered: AnsweredLicence) -> str:
    """The state of the licence that is held now; `none` without one."""
    if await keep_operator_licence(tx, runtime.settings, answered):
        await publish_card(tx, runtime.settings, runtime.seal)
    held = await held_operator_licence(tx)
    if held is None:
        return "none"
    if held.state != "active":
        _log.warning("the operator licence is not active", state=held.state, reason=held.reason)
    return held.state


async def _work(runtime: Runtime, _: Job) -> None:
    await read_operator_licence(runtime)


OPERATOR_LICENCE = LeasedKind(
    "federation: licence of this operator",
    _work,
    retries=Retries(None, pause_seconds=2.0, pause_max_seconds=60.0),
    every_seconds=EVERY_SECONDS,
    is_enabled=lambda settings: settings.is_operator,
)
