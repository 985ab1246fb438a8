"""The route by which another registry sends its messages about transfers."""

from fastapi import APIRouter, Request

from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.web.direct import DirectRoute
from hansa.foundation.plumbing.web.peer_caller import CertificateMissing, CurrentPeer, NotAPeer
from hansa.foundation.plumbing.web.problem_docs import problems
from hansa.foundation.values.errors import Invalid, Unavailable
from hansa.rooms import federation

from .channel import CHANNEL
from .schemas import TransferMessagesIn, TransferMessagesOut

peer_router = APIRouter(tags=["federation"], route_class=DirectRoute)


@peer_router.post(
    "/federation/transfers/messages",
    responses=problems(CertificateMissing, NotAPeer, Invalid, Unavailable),
)
async def transfer_messages(
    body: TransferMessagesIn, caller: CurrentPeer, request: Request
) -> TransferMessagesOut:
    """Take the messages of a peer in; a repeated message gets its stored answer."""
    runtime = runtime_of(request)
    peer = await runtime.database.query(lambda tx: federation.peer_by_id(tx, caller.id))
    answers = await CHANNEL.receive(runtime, peer, body.messages, reads_transfers=body.reads_transfers)
    return TransferMessagesOut(messages=answers, reads_transfers=True)
