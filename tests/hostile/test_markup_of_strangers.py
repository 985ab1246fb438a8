"""Markup in every field that a stranger controls is text on every page that shows it."""

import itertools
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from hansa.foundation.values.areas import ADMIN_AREAS
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.visible_text import apart
from tests.browsing import BrowserOf
from tests.exchange import insert
from tests.hostile import proof_requests
from tests.hostile.markup import ADDRESSES, MARKUP, JudgedPage
from tests.house.rights import read_rights
from tests.properties.scale import by_tier
from tests.registry import PASSWORD, TestAgent, TestDeveloper, TestRegistry

TEXTS = by_tier(MARKUP[::3], MARKUP, MARKUP)
DIGEST = "c" * 64
PUBLIC = (
    *(
        "/",
        "/catalogue",
        "/find",
        "/events",
        "/federation",
        "/supply",
        "/swaps",
        "/work",
        "/governance",
        "/market",
        "/market/stock-card",
        "/market/venues",
        "/status",
        "/showcase",
        "/verify",
        "/proofs",
        "/circuits",
        "/attestations",
    ),
    *("/licences", "/docs", "/docs/problems", "/guides", "/changelog", "/terms", "/privacy", "/first-steps"),
    *(
        "/login",
        "/sign-up",
        "/report",
        "/forgot-password",
        "/recover",
        "/recover/two-factor",
        "/set-password",
    ),
)
OWN = (
    *("", "/card", "/versions", "/versions/1", "/rights", "/approvals", "/capabilities", "/credentials"),
    *(
        "/end",
        "/wallet",
        "/wallet/statement",
        "/wallet/send",
        "/wallet/receive",
        "/wallet/stakes",
        "/wallet/tokens",
    ),
    *("/wallet/tokens/new", "/wallet/bond", "/contracts", "/contracts/new", "/disputes", "/disputes/new"),
    *(
        "/logs",
        "/metrics",
        "/releases",
        "/history",
        "/contracts/open",
        "/wallet/quotes",
        "/wallet/bridge",
        "/wallet/x402",
        "/wallet/proof",
    ),
    *(
        "/achievements",
        "/attestations",
        "/children",
        "/governance",
        "/market",
        "/pipelines",
        "/pipelines/new",
        "/pipelines/templates",
    ),
    "/pipelines/templates/best-of-n",
)
OF_ORGANIZATION = (
    *("", "/members", "/teams", "/agents", "/audit", "/settings"),
    *(
        "/treasury",
        "/treasury/requests",
        "/treasury/rules",
        "/treasury/pay",
        "/treasury/budgets/new",
        *("/contracts", "/disputes", "/disputes/new"),
        "/work",
        "/work/new",
        "/listing",
    ),
)
# Pages with a number of their own, as lists link them.
FOUND = re.compile(r'href="(/(?:events|transactions|administration/developers)/[^"?]+)"')
FILES = (".csv", ".json", ".txt")


@dataclass
class Written:
    """Texts of strangers: the number of texts that each field took, and the pages that show them."""

    taken: Counter[str] = field(default_factory=Counter)
    pages: list[str] = field(default_factory=list)

    def note(self, name: str, answer: httpx2.Response) -> Any:
        """The document, or None where the text is refused."""
        assert answer.status_code < 500, (name, answer.text)
        if answer.status_code >= 400:
            return None
        self.taken[name] += 1
        return answer.json() if answer.content else {}


@dataclass(frozen=True)
class Strangers:
    """An owner of an agent, and another one whose agent trades with it."""

    registry: TestRegistry
    owner: TestDeveloper
    agent: TestAgent
    other: TestAgent
    administrator: TestDeveloper
    written: Written

    async def post(self, name: str, path: str, by: TestAgent | TestDeveloper, body: Any) -> Any:
        return self.written.note(name, await self.registry.post(path, json=body, headers=by.headers))

    async def write(self, text: str, address: str, number: int) -> None:
        """The text in every field that takes one, and the address in every field that takes one."""
        registration = {
            "name": f"{number} {text}",
            "email": f"stranger{number}@example.net",
            "password": PASSWORD,
        }
        consent = {"tos_accepted": True, "age_confirmed": True}
        made = await self.registry.post(
            "/auth/register", json={**registration, **consent}, headers=self.registry.elsewhere()
        )
        self.written.note("display name", made)
        await self._card(text, address)
        await self._organization(text, number)
        await self.post("memo", "/teg/transfer", self.agent, self._transfer(text))
        await self._log(text)
        await self._release(text)
        await self._ticket(text)
        await self._payment(text)
        await self._contract(text, address)
        dispute = await self.post(
            "complaint",
            "/disputes/",
            self.agent,
            {"defendant_did": self.other.did, "reason_code": "OTHER", "description": text},
        )
        if dispute:
            path = f"/disputes/{dispute['id']}/evidence"
            for body in ({"note": text}, {"uri": address}):
                await self.post(f"evidence {[*body]}", path, self.other, {"sha256": DIGEST, **body})
            self.written.pages += [
                f"/account/agents/{self.agent.did}/disputes/{dispute['id']}",
                f"/administration/disputes/{dispute['id']}",
            ]
        await self.post("key", "/auth/api-keys", self.owner, {"key_name": text})
        hook = {"url": "https://receiver.example.com/", "event_types": ["*"], "description": text}
        made = await self.post("webhook", "/developers/webhooks", self.owner, hook)
        if made:
            self.written.pages.append(f"/account/webhooks/{made['id']}")
        await self.post("invitation", "/admin/invite-codes/generate", self.administrator, {"note": text})
        admission = {"trust_domain": f"stranger{number}.example", "note": text}
        await self.post("admission", "/admin/federation/licence-keys", self.administrator, admission)
        await BrowserOf(self.registry).http.post(
            "/login",
            data={"email": self.owner.email, "password": PASSWORD},
            headers={
                "User-Agent": text.encode("ascii", "replace").decode(),
                "Origin": self.registry.settings.base_url,
            },
        )

    async def _release(self, text: str) -> None:
        base = f"/agents/{self.agent.did}"
        await self.post(
            "release notes", f"{base}/versions", self.owner, {"version": uuid4().hex, "release_notes": text}
        )

    async def _ticket(self, text: str) -> None:
        content = {"subject": text[:150], "body": text, "category": "other"}
        made = await self.post("ticket", "/support/tickets", self.owner, content)
        if not made:
            return
        path = f"/support/tickets/{made['id']}"
        await self.post("ticket message", f"{path}/messages", self.owner, {"body": text})
        for internal in (True, False):
            body = {"body": text, "internal": internal}
            await self.post("ticket answer", f"/admin{path}/messages", self.administrator, body)
        self.written.pages += [f"/account/support/{made['id']}", f"/administration/support/{made['id']}"]
        await self.post("close", f"{path}/close", self.owner, {})
        report = {"agent_did": self.agent.did, "reason": text[:150], "body": text}
        reported = await self.registry.post(
            "/support/reports", json=report, headers=self.registry.elsewhere()
        )
        self.written.note("report", reported)

    async def _log(self, text: str) -> None:
        base = f"/agents/{self.agent.did}/logs"
        for name, entry in (
            ("log", {"message": text}),
            ("log details", {"message": "x", "log_metadata": {text: [text]}}),
        ):
            await self.post(name, base, self.agent, {"level": "ERROR", **entry})
        self.written.pages += [f"/account{base}", f"/account{base}?level=ERROR&live=true"]

    def _transfer(self, text: str) -> dict[str, Any]:
        return {"receiver_agent_id": self.other.did, "amount": "0.01", "message": text}

    async def _card(self, text: str, address: str) -> None:
        card = {
            "name": text,
            "description": f"{text} {address}",
            "skills": [
                {"id": "s", "name": text, "description": text, "tags": [text[:40]], "examples": [text]}
            ],
            "provider": {"organization": text, "url": address},
            "documentationUrl": address,
            "iconUrl": address,
        }
        # A card is refused as a whole: each member is also tried alone.
        harmless = {"provider": {"organization": "Example", "url": "https://example.org"}}
        for members in (card, *({**harmless, name: value} for name, value in card.items())):
            try:
                agent = await self.owner.agent(**members)
            except Refused:
                continue
            member = [*members][-1] if len(members) < len(card) else "whole"
            self.written.taken[f"card {member}"] += 1
            # The name is on every page of an agent, the rest on those of its card.
            own = OWN if member in {"name", "whole"} else ("/card", "/versions/1")
            self.written.pages += [
                f"/agents/{agent.did}",
                *(f"/account/agents/{agent.did}{page}" for page in own),
            ]

    async def _organization(self, text: str, number: int) -> None:
        named = {"name": text[:100], "description": text, "visibility": "public"}
        slug = f"stranger-{number}"
        made = await self.post("organization", "/organizations", self.owner, {"slug": slug, **named})
        if made:
            base = f"/account/organizations/{slug}"
            own = OF_ORGANIZATION if number == 0 else ("", "/settings")
            self.written.pages += [f"/organizations/{slug}", *(f"{base}{page}" for page in own)]

    async def _payment(self, text: str) -> None:
        body = {"target_agent_did": self.other.did, "amount": "0.01", "resource": text}
        made = await self.post("token", "/a2a-payment/authorize", self.agent, body)
        if not made:
            return
        await self.registry.post("/a2a-payment/verify", json={"token": made["token"]})
        paid = {"token": made["token"], "task_id": text}
        headers = {**self.agent.headers, "Prefer": "wait=10"}
        settled = await self.registry.post("/a2a-payment/settle", json=paid, headers=headers)
        if self.written.note("task", settled):
            self.written.pages.append(f"/pay/{made['token_id']}")

    async def _contract(self, text: str, address: str) -> None:
        due = datetime.now(UTC) + timedelta(days=2)
        body = {
            "provider_did": self.other.did,
            "title": text,
            "contract_type": "attestation",
            "amount": "0.01",
            "terms": text,
            "acceptance_criteria": text,
            "review_by": due.isoformat(),
            "milestones": [{"title": text, "amount": "0.01"}],
        }
        made = await self.post("contract", "/contracts", self.agent, body)
        if not made:
            return
        path = f"/contracts/{made['id']}"
        await self.post("accept", f"{path}/accept", self.other, {})
        for deliverable in ({"note": text}, {"uri": address}):
            whole = {"deliverable": {"sha256": DIGEST, **deliverable}, "milestone": 0}
            await self.post(f"deliverable {[*deliverable]}", f"{path}/submit", self.other, whole)
            await self.post("request", f"{path}/request-changes", self.agent, {"note": text})
        self.written.pages += [path, f"/account/agents/{self.agent.did}{path}"]


@pytest.fixture
async def strangers(registry: TestRegistry) -> Strangers:
    owner = await registry.developer()
    return Strangers(
        registry,
        owner,
        await owner.agent(),
        await registry.agent(),
        await registry.administrator(*ADMIN_AREAS),
        Written(),
    )


async def pages_of_one_object(strangers: Strangers) -> list[str]:
    """The pages of a saga of the bridge and of a capability that the agent holds."""
    registry, did = strangers.registry, strangers.agent.did
    saga_id = await registry.database.transaction(
        lambda tx: tx.fetchval(
            "INSERT INTO transfers_bridge_saga (saga_id, direction, peer, frame, sender_did, receiver_did, amount, currency,"
            " state, code, history, deadline, next_at) VALUES (gen_random_uuid(), 'redeem', 'spiffe://elsewhere.example/registry',"
            " 'elsewhere.example', $1, $2, 100, 'BOB', 'FAILED', $3, '[]', now(), now()) RETURNING saga_id",
            did,
            strangers.other.did,
            "PEER_ABANDONED",
        )
    )
    caveats = {"permissions": ["teg.transfer"], "counterparty_allow": [strangers.other.did]}
    body = {"caveats": caveats, "holder_agent_did": did}
    made = await registry.post("/agents/capabilities", json=body, headers=strangers.agent.headers)
    assert made.status_code == 200, made.text
    base = f"/account/agents/{did}"
    return [f"{base}/wallet/bridge/{saga_id}", f"{base}/capabilities/{made.json()['id']}/narrow"]


async def pages_of_an_organization(strangers: Strangers) -> list[str]:
    """The pages of a team, of members, and of a request of the first organization."""
    path, owner = "/organizations/stranger-0", strangers.owner.headers
    registry = strangers.registry
    made = await registry.post(f"{path}/teams", json={"slug": "crew", "grant": "read"}, headers=owner)
    assert made.status_code == 201, made.text
    own = (await registry.get("/auth/profile", headers=owner)).json()["id"]
    request_id = await registry.database.transaction(
        lambda tx: tx.fetchval(
            "INSERT INTO organizations_request (id, organization_id, kind, body, concerned_id, initiator_id, expires_at)"
            " SELECT gen_random_uuid(), id, 'owners', jsonb_build_object('developer_id', $1::bigint, 'role', null), $1, $1,"
            " now() + interval '1 day' FROM organizations_organization WHERE slug = 'stranger-0' RETURNING id",
            own,
        )
    )
    treasury = (await registry.get(path, headers=owner)).json()["treasury_did"]
    await strangers.agent.transfer(treasury, "2")
    text = TEXTS[0]
    offered = {
        "title": text[:200],
        "spec": text,
        "acceptance_criteria": text,
        "amount": "0.5",
        "skills": [text.strip()[:64].strip()],
        "bids_until": (datetime.now(UTC) + timedelta(days=1)).isoformat(),
        "submit_days": 1,
        "review_days": 1,
    }
    orders, bids = [], []
    for _ in range(2):
        made = await registry.post(f"{path}/work-orders", json=offered, headers=owner)
        assert made.status_code == 201, made.text
        order = made.json()["id"]
        bid = {"price": "0.4", "eta_seconds": 60, "pitch": text}
        made = await registry.post(f"/work-orders/{order}/bids", json=bid, headers=strangers.other.headers)
        assert made.status_code == 201, made.text
        bids.append(made.json()["bid_id"])
        orders.append(order)
    awarded, order = orders
    award = f"{path}/work-orders/{awarded}/award"
    made = await registry.post(award, json={"bid_id": bids[0]}, headers=owner)
    assert made.status_code == 200, made.text
    (contract,) = (await registry.get(f"{path}/contracts", headers=owner)).json()["items"]
    delivered = {"deliverable": {"sha256": DIGEST, "note": text}}
    other = strangers.other.headers
    made = await registry.post(f"/contracts/{contract['id']}/submit", json=delivered, headers=other)
    assert made.status_code == 200, made.text
    complaint = {"defendant_did": strangers.other.did, "reason_code": "OTHER", "description": text}
    made = await registry.post(f"{path}/contracts/{contract['id']}/dispute", json=complaint, headers=owner)
    assert made.status_code == 201, made.text
    below = ("/teams/crew", f"/members/{own}/remove", f"/members/{own}/secrets", f"/work/{order}")
    return [
        *(f"/account{path}{page}" for page in (*below, f"/treasury/requests/{request_id}")),
        *(
            f"/account{path}/{page}"
            for page in (f"contracts/{contract['id']}", f"disputes/{made.json()['id']}")
        ),
        *(f"/account/bid/{order}", f"/account/agents/{strangers.agent.did}/work/{order}"),
        f"/work/{order}",
    ]


async def pages_of_a_pipeline(strangers: Strangers) -> list[str]:
    """The pages of a pipeline with the texts of a stranger, and of a run of it."""
    registry, agent, text = strangers.registry, strangers.agent, TEXTS[0]
    path = f"/agents/{agent.did}/pipelines"
    step = {"id": "only", "agent": strangers.other.did, "message": text, "max_amount": "1", "approval": True}
    body = {"name": text.strip()[:64].strip(), "description": text, "steps": [step], "budget": "1"}
    made = await registry.post(path, json=body, headers=agent.headers)
    assert made.status_code == 201, made.text
    pipeline = f"{path}/{made.json()['id']}"
    begun = await registry.post(f"{pipeline}/runs", json={"input": {"text": text}}, headers=agent.headers)
    assert begun.status_code == 202, begun.text
    return [
        f"/account{pipeline}",
        f"/account{pipeline}/edit",
        f"/account{pipeline}/runs/{begun.json()['run_id']}",
    ]


async def pages_of_a_proposal(strangers: Strangers) -> list[str]:
    """The pages of a proposal whose title and description are the text of a stranger, the public one first."""

    async def proposed(tx: Any) -> int:
        number = await tx.fetchval(
            "INSERT INTO governance_proposal (proposer_did, owner, kind, title, description, created_at, snapshot_at, ends_at,"
            " eligible_weight, quorum_weight) SELECT $1, 'developer:0', 'signal', $2, $2, at, at, at + interval '1 hour', 0, 0"
            " FROM clock_timestamp() at RETURNING id",
            strangers.agent.did,
            TEXTS[0],
        )
        return int(number)

    below = f"/governance/{await strangers.registry.database.transaction(proposed)}"
    agent = f"/account/agents/{strangers.agent.did}"
    return [below, f"/account{below}", f"{agent}{below}", f"/administration{below}"]


async def pages_of_listings(strangers: Strangers) -> list[str]:
    """The pages of a listing of an organization whose name and whose reasons are the text of a stranger, the public one first."""
    registry = strangers.registry
    slug = {"slug": "stranger-market", "name": TEXTS[0].strip()[:100], "visibility": "public"}
    other = await registry.developer()
    made = await registry.post("/organizations", json=slug, headers=other.headers)
    assert made.status_code == 201, made.text

    async def listed(tx: Any) -> str:
        ref = await insert(tx, made.json()["id"], "TRADING")
        reason = "UPDATE exchange_listing SET status = 'HALTED', reason = $2 WHERE ref = $1"
        await tx.execute(reason, ref, TEXTS[0])
        return ref

    ref = await registry.database.transaction(listed)
    agent = f"/account/agents/{strangers.agent.did}"
    return [
        f"/market/{ref}",
        f"/account/market/{ref}",
        f"{agent}/market/{ref}",
        f"/market/{ref}/holders",
        f"{agent}/market/{ref}/points",
        f"/administration/listings/{ref}",
    ]


async def pages_of_a_circuit(strangers: Strangers) -> list[str]:
    """The pages of a circuit whose texts are those of a stranger, and of an attestation by it."""
    texts = "UPDATE proofs_circuit SET title = left($1, 150), statement = $1, setup_note = $1"
    stage: Any = strangers
    attestation = await proof_requests.attestation(stage)
    await strangers.registry.database.transaction(lambda tx: tx.execute(texts, TEXTS[0]))
    return [f"/circuits/{proof_requests.STAGED}", f"/attestations/{attestation}"]


async def judged(browser: BrowserOf, paths: Iterable[str]) -> tuple[dict[str, list[str]], str]:
    """Return the faults of each page, and the text of all pages."""
    faults, text = {}, ""
    for path in dict.fromkeys(paths):
        answer = await browser.open(path)
        assert (path, answer.status_code) == (path, 200), answer.text[:400]
        assert "unsafe" not in answer.headers["content-security-policy"], path
        page = JudgedPage(answer.text)
        text += page.text
        if page.faults:
            faults[path] = page.faults
    return faults, text


def private_pages() -> list[str]:
    """The paths of all pages of persons and administrators."""
    paths = [row.operation.removeprefix("GET ") for row in read_rights()]
    private = [path for path in paths if path.startswith(("/account", "/administration"))]
    return [path for path in private if not path.endswith(FILES)]


def pages_below(start: str) -> list[str]:
    """The pages that each person or administrator has once."""
    return [path for path in private_pages() if path.startswith(start) and "{" not in path]


def unvisited(visited: set[str]) -> list[str]:
    """The private pages of which none was visited."""
    patterns = {path: re.compile(re.sub(r"\{[^}]*\}", "[^/]+", path)) for path in private_pages()}
    return [path for path, form in patterns.items() if not any(map(form.fullmatch, visited))]


async def test_markup_of_strangers_is_text_on_every_page_that_shows_it(strangers: Strangers):
    addresses = itertools.cycle(ADDRESSES)
    for number, text in enumerate(TEXTS):
        await strangers.write(text, next(addresses), number)
    written, registry = strangers.written, strangers.registry
    reached = {"display name", "card whole", "memo", "contract", "complaint", "key", "webhook", "invitation"}
    reached |= {"ticket", "ticket message", "ticket answer", "report"}
    reached |= {
        "token",
        "task",
        "admission",
        "evidence ['note']",
        "deliverable ['note']",
        "request",
        "card name",
    }
    assert reached - set(written.taken) == set(), dict(written.taken)
    written.pages += await pages_of_an_organization(strangers)
    reason = {"agent_dids": [strangers.other.did], "reason": TEXTS[0]}
    await registry.post("/admin/agents/bulk/suspend", json=reason, headers=strangers.administrator.headers)
    waiting = await registry.database.transaction(
        lambda tx: tx.fetchval(
            "INSERT INTO agents_spend_approval (agent_id, payee, amount, expires_at)"
            " SELECT id, $2, 1, now() + interval '1 day' FROM agents_agent WHERE did = $1 RETURNING id",
            strangers.agent.did,
            strangers.other.did,
        )
    )
    written.pages.append(f"/account/approvals/{waiting}")
    written.pages += await pages_of_one_object(strangers)
    written.pages += await pages_of_a_pipeline(strangers)
    await registry.indexed()
    listed = (await registry.http.get("/events", headers={"Accept": "text/html"})).text
    to_anyone = [
        page for page in written.pages if page.startswith(("/agents/", "/pay/", "/organizations/", "/work/"))
    ]
    proposal, *of_proposal = await pages_of_a_proposal(strangers)
    listing, *of_listing = await pages_of_listings(strangers)
    written.pages += of_proposal + of_listing
    of_circuit = await pages_of_a_circuit(strangers)
    public = [*PUBLIC, proposal, listing, *of_circuit, *FOUND.findall(listed)[:40], *to_anyone]
    administration = [page for page in written.pages if page.startswith("/administration")]
    office = await BrowserOf(registry).log_in(strangers.administrator.email)
    first = await registry.get("/organizations/stranger-0", headers=strangers.owner.headers)
    administration.append(f"/administration/organizations/{first.json()['id']}")
    administration += FOUND.findall((await office.open("/administration/developers")).text)[:40]
    own = [page for page in written.pages if page not in {*administration, *to_anyone}]
    seen = ""
    visited = set()
    for browser, pages in (
        (BrowserOf(registry), public),
        (await BrowserOf(registry).log_in(strangers.owner.email), [*pages_below("/account"), *own]),
        (office, [*pages_below("/administration"), *administration]),
    ):
        visited |= {*pages}
        faults, text = await judged(browser, pages)
        assert faults == {}
        seen += text
    assert unvisited(visited) == []
    # What was taken was shown, character by character: the pages that were judged had it.
    assert [text for text in TEXTS if apart(text) not in seen] == []


@pytest.mark.parametrize("text", [*MARKUP[:20]], ids=repr)
def test_the_judge_finds_markup_that_is_not_escaped(text: str):
    for page in (
        f"<p>{text}</p>",
        f'<input value="{text}">',
        f"<input value='{text}'>",
        f"<title>{text}</title>",
    ):
        if JudgedPage(page).faults:
            return
    assert text.startswith("`"), "a backtick ends no attribute of a page"
