"""The browser's own reader of reputation exports computes the registry's scores, to the digit."""

import json
import random
from dataclasses import astuple
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page

from hansa.foundation.values.money import format_amount
from hansa_verify import FORMULA, NotASignal, read_signal, scores_of
from tests.properties.scale import by_tier, printed_seed

VECTORS = Path(__file__).parents[1] / "vectors" / "reputation"
EXPORTS = by_tier(40, 500, 5000)
EPOCH = date(2026, 11, 23)
VERIFIED = """async exports => {
  const { verifyExport } = await import("/static/reputation.js");
  return exports.map(pages => {
    const { epoch, scores, differing } = verifyExport(pages);
    const members = [...scores].map(([agent, score]) => [agent, Object.values(score).map(String)]);
    return { epoch, differing, scores: Object.fromEntries(members) };
  });
}"""
REFUSED = """async texts => {
  const { readSignal } = await import("/static/reputation.js");
  const { read, Unreadable } = await import("/static/canonical.js");
  return texts.map(text => {
    try { return readSignal(read(text)) === null ? "no signal" : "signal"; }
    catch (trouble) { if (trouble instanceof Unreadable) return "refused"; throw trouble; }
  });
}"""
PAYMENT = {
    "event_type": "A2APaymentSettled",
    "timestamp": "2026-11-20T10:00:00+00:00",
    "data": {"caller": "did:x:1", "payee": "did:x:2", "fee": "1.5", "counts": True},
}
RULING = {
    "event_type": "DisputeRuled",
    "timestamp": "2026-11-20T10:00:00Z",
    "data": {
        "complainant_did": "did:x:1",
        "defendant_did": "did:x:2",
        "ruling": "DISMISSED",
        "fee": "0",
        "counts": True,
    },
}


def changed(event: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {**event, **members}


def with_data(event: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {**event, "data": {**event["data"], **members}}


EVENTS: list[Any] = [
    PAYMENT,
    RULING,
    {},
    [],
    5,
    None,
    changed(PAYMENT, event_type="TokensTransferred"),
    changed(PAYMENT, event_type=5),
    changed(PAYMENT, event_type=None),
    changed(PAYMENT, event_type=["A2APaymentSettled"]),
    changed(PAYMENT, event_type="toString"),
    *(changed(PAYMENT, timestamp=at) for at in (
        "2026-11-20T10:00:00", "2026-11-20", "20261120T100000Z", "2026-02-29T10:00:00Z", "2024-02-29T10:00:00Z",
        "2026-11-20T24:00:00Z", "2026-11-20T23:59:60Z", "2026-11-20T10:00:00.1234567Z", "2026-11-20T10:00:00.1Z",
        "2026-11-20 10:00:00Z", "2026-11-20T10:00:00+24:00", "2026-11-20T10:00:00-23:59", "2026-13-01T10:00:00Z",
        "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00", "2026-11-20T10:00:00Z\n", "٢026-11-20T10:00:00Z", 5, None,
    )),
    *(with_data(PAYMENT, fee=fee) for fee in (
        "", ".", "1.", ".5", "+1", "-1", "1e3", " 1", "1 ", "0.123456789", "00001.10", "١", "9" * 4292, "9" * 4293, 5, None, True,
    )),
    *(with_data(PAYMENT, **members) for members in ({"counts": 1}, {"counts": None}, {"caller": 5}, {"payee": None})),
    *(with_data(RULING, ruling=ruling) for ruling in ("IN_FAVOR_OF_DEFENDANT", "OTHER", "constructor", None, [], 1)),
    changed(PAYMENT, data=None),
    changed(PAYMENT, data={}),
    changed(RULING, data={"ruling": "DISMISSED"}),
]  # fmt: skip


def drawn(draw: random.Random) -> list[str]:
    """The pages of an export with events of every kind."""
    agents = [f"did:x:{number}" for number in range(draw.randrange(2, 12))]
    events = [_event(draw, agents) for _ in range(draw.randrange(120))]
    signals = [signal for signal in map(read_signal, events) if signal]
    stated = [
        {"agent_did": agent, "score": score.score} for agent, score in scores_of(signals, EPOCH).items()
    ]
    common = {"formula": FORMULA, "epoch": EPOCH.isoformat()}
    half = len(events) // 2
    first = {**common, "events": events[:half], "scores": [], "next": {"signal": half}}
    last = {**common, "events": events[half:], "scores": stated, "next": None}
    return [json.dumps(first), json.dumps(last)]


def _event(draw: random.Random, agents: list[str]) -> dict[str, Any]:
    giver, receiver = draw.sample(agents, 2)
    at = datetime(2026, 11, 23, 12, tzinfo=UTC) - timedelta(minutes=draw.randrange(600 * 24 * 60))
    zone = timezone(timedelta(minutes=draw.randrange(-23 * 60, 23 * 60)))
    fee = format_amount(draw.choice([0, 1, draw.randrange(10**6), draw.randrange(10**10), 10**20]))
    names = {
        "A2APaymentSettled": ("caller", "payee"),
        "ContractCompleted": ("contractor_did", "provider_did"),
        "DisputeRuled": ("complainant_did", "defendant_did"),
        "CrossRegistryTransferCompleted": ("sender_did", "receiver_did"),
    }
    kind = draw.choice([*names, "A2APaymentSettled", "A2APaymentSettled"])
    ruling = draw.choice(["IN_FAVOR_OF_COMPLAINANT", "IN_FAVOR_OF_DEFENDANT", "DISMISSED"])
    parties = dict(zip(names[kind], (giver, receiver), strict=True))
    counts: bool | None = draw.random() < 0.9
    if kind == "CrossRegistryTransferCompleted" and draw.random() < 0.3:
        counts = None
    counted_fee = draw.choice([None, format_amount(draw.randrange(10**9))])
    data = {**parties, "fee": fee, "counts": counts, "counted_fee": counted_fee, "ruling": ruling}
    return {"event_type": kind, "timestamp": at.astimezone(zone).isoformat(), "data": data}


async def test_the_browser_computes_the_scores_and_components_of_the_registry(script_page: Page):
    draw = random.Random(printed_seed())
    exports = [
        *([path.read_text()] for path in sorted(VECTORS.glob("*.json"))),
        *(drawn(draw) for _ in range(EXPORTS)),
    ]
    for pages, found in zip(exports, await script_page.evaluate(VERIFIED, exports), strict=True):
        read = [json.loads(text) for text in pages]
        signals = [signal for one in read for signal in map(read_signal, one["events"]) if signal]
        expected = scores_of(signals, date.fromisoformat(read[0]["epoch"]))
        assert found["differing"] == []
        assert found["scores"] == {
            agent: [str(score.score), score.grade, *map(str, astuple(score)[1:])]
            for agent, score in expected.items()
        }


async def test_the_browser_names_the_agents_whose_score_is_stated_otherwise(script_page: Page):
    export = json.loads((VECTORS / "small.json").read_text())
    export["scores"][0]["score"] += 1
    [found] = await script_page.evaluate(VERIFIED, [[json.dumps(export)]])
    assert found["differing"] == [export["scores"][0]["agent_did"]]


async def test_the_browser_refuses_the_events_that_the_verifier_refuses(script_page: Page):
    found = await script_page.evaluate(REFUSED, [json.dumps(event) for event in EVENTS])
    assert [(event, one) for event, one in zip(EVENTS, found, strict=True) if one != _outcome(event)] == []
    assert {"signal", "refused", "no signal"} == set(found)


def _outcome(event: Any) -> str:
    try:
        return "signal" if read_signal(event) else "no signal"
    except NotASignal:
        return "refused"


@pytest.mark.parametrize(
    ("member", "value"),
    [("formula", "hansa-reputation/1"), ("next", {"signal": 1}), ("events", 5), ("epoch", "2026-02-30")],
)
async def test_the_browser_refuses_what_is_no_whole_export(script_page: Page, member: str, value: Any):
    export = json.loads((VECTORS / "small.json").read_text()) | {member: value}
    said = """async text => {
      const { verifyExport } = await import("/static/reputation.js");
      try { verifyExport([text]); return "read"; } catch (trouble) { return trouble.constructor.name; }
    }"""
    assert await script_page.evaluate(said, json.dumps(export)) == "Unreadable"
