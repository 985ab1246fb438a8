"""The pages of agents that a process keeps, and the states that each was made from.

The state of each part is read for every request, for all requests of the same moment in one statement.

Pages of the public that are sent again as they were, while all that they show is unchanged.

- A page is kept with the states it was made from (`page_states`). They are read for every request, so nothing shown is ever old,
  whichever process changed it; requests of the same moment read them in one statement.
- A page that says how long ago something was is not rendered anew when that reads otherwise: the age is replaced.
- A kept page is the same for everybody: it is made without looking at cookies, and holds no token, no nonce and nothing of a person.
- The pages of one process together have a bound; the one that was not asked for longest is let go first.
"""

import asyncio
import gzip
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import sha256
from http import HTTPStatus
from time import time

import msgspec
from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from hansa.doors.console.rendering import PAGE_HEADERS, rendered_in_steps, with_ages_of_now
from hansa.doors.console.style_sheets import packed_page
from hansa.foundation.plumbing.process.runtime import Slot
from hansa.foundation.plumbing.storage.batch_loader import BatchLoader
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.storage.page_states import States, read_states
from hansa.foundation.plumbing.web.content_encoding import accepts_gzip
from hansa.foundation.plumbing.web.entity_tags import knows
from hansa.rooms import achievements, catalogue, commerce, reputation

CONTRACTS_SHOWN = 20
OTHERS_SHOWN = 10
PARTS = {
    "card": catalogue.CARD_STATE,
    "others": catalogue.others_state(OTHERS_SHOWN),
    "score": reputation.SCORE_STATE,
    "record": reputation.RECORD_STATE,
    "grades": reputation.GRADES_STATE,
    "achievements": achievements.ACHIEVEMENTS_STATE,
    "contracts": commerce.attestations_state(CONTRACTS_SHOWN),
}

KEPT_BYTES_MAX = 32_000_000
TAG_DIGITS = 32
# A browser may store the page, and sends a conditional request before each use.
REVALIDATED = "public, no-cache"


class AgentPages:
    """The pages of agents that one process keeps, and the states by which it knows whether they are still right."""

    def __init__(self, database: Database) -> None:
        self.kept = CachedPages()
        self.database = database
        self._states: BatchLoader[str, States] = BatchLoader(self._read)

    async def states_of(self, did: str) -> States | None:
        """Return the states of the data shown of an agent; None where there is no card of that DID. Raises: Unavailable."""
        states = await self._states.find(did)
        return states if states is not None and states["card"] is not None else None

    async def _read(self, dids: Sequence[str]) -> Mapping[str, States]:
        return await self.database.query(lambda tx: read_states(tx, PARTS, dids))


class CachedPage(msgspec.Struct, frozen=True):
    """A page as it is sent: compressed, with its tag. After `changes_at` (seconds since 1970) an age on it reads otherwise.

    All pages share one `beginning`, which has their styles; `rest` is the remainder of this page.
    """

    states: States
    beginning: bytes
    rest: bytes
    tag: str
    changes_at: float

    @classmethod
    def of(cls, states: States, text: bytes) -> "CachedPage":
        """The page with this text and the ages of now."""
        text, changes_at = with_ages_of_now(text)
        # The same content in two encodings: the tag is weak.
        return cls(states, *packed_page(text), f'W/"{sha256(text).hexdigest()[:TAG_DIGITS]}"', changes_at)

    @property
    def packed(self) -> bytes:
        """The page as gzip."""
        return self.beginning + self.rest

    def renewed(self) -> "CachedPage":
        """The same page with the ages of now."""
        return self.of(self.states, gzip.decompress(self.packed))

    def answer(self, request: Request) -> Response:
        """The page as this client takes it, or 304 where the client has it."""
        headers = {
            **PAGE_HEADERS,
            "Cache-Control": REVALIDATED,
            "ETag": self.tag,
            "Vary": "Accept-Encoding",
        }
        if knows(request, self.tag):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        if accepts_gzip(request.headers):
            return HTMLResponse(self.packed, headers={**headers, "Content-Encoding": "gzip"})
        return HTMLResponse(gzip.decompress(self.packed), headers=headers)


class CachedPages:
    """The pages that this process keeps."""

    def __init__(self, bytes_max: int = KEPT_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._pages: OrderedDict[str, CachedPage] = OrderedDict()
        self._bytes = 0
        self._turn = asyncio.Lock()

    def find(self, name: str, states: States) -> CachedPage | None:
        """The page of this name that was made from these states, or None."""
        page = self._pages.get(name)
        if page is None or page.states != states:
            return None
        if page.changes_at <= time():
            page = page.renewed()
            self.keep(name, page)
        self._pages.move_to_end(name)
        return page

    def keep(self, name: str, page: CachedPage) -> None:
        """Keep a page in place of an earlier one of its name."""
        self.drop(name)
        self._pages[name] = page
        self._bytes += len(page.rest)
        while self._bytes > self._bytes_max:
            self.drop(next(iter(self._pages)))

    async def render(self, request: Request, states: States, template: str, **content: object) -> CachedPage:
        """Render a page that shows nothing that these states do not cover; it is not kept yet.

        One page after the other, each in steps: the other work of the process waits for a step at most.
        """
        async with self._turn:
            # What the caller has just prepared was a step as well.
            await asyncio.sleep(0)
            text = await rendered_in_steps(request, template, **content)
            await asyncio.sleep(0)
            return CachedPage.of(states, text)

    def drop(self, name: str) -> None:
        """Let a page go, where there is one."""
        if (page := self._pages.pop(name, None)) is not None:
            self._bytes -= len(page.rest)


AGENT_PAGES: Slot[AgentPages] = Slot(
    "console: pages of agents", build=lambda runtime: AgentPages(runtime.database)
)
