"""The pages of the catalogue: who is listed, and each agent by itself.

- What the registry says stands apart from what an owner wrote, in other elements.
- Every state of the catalogue page is an address; nothing needs a script but checking a signature in the browser.
"""

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.agent_shown import AgentPage
from hansa.doors.console.rendering import page
from hansa.foundation.plumbing.caller import Public
from hansa.foundation.plumbing.limits import within_read_limit
from hansa.foundation.plumbing.runtime import Config, Db
from hansa.rooms import catalogue

router = APIRouter(
    include_in_schema=False, default_response_class=HTMLResponse, dependencies=[Depends(within_read_limit)]
)


@router.get("/agents/{card_key}")
async def show_agent(_: Public, request: Request, db: Db, settings: Config, card_key: str) -> HTMLResponse:
    """One agent: by its DID, or by the UUID or number of its card."""
    try:
        card = await db.read(lambda tx: catalogue.card_of(tx, card_key))
    except catalogue.CardUnknown:
        return page(request, "agent-unknown.html", status=404, key=card_key)
    return page(request, "agent.html", agent=AgentPage.of(card, settings))
