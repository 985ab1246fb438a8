"""A room that exists in tests only: tokens that are opened with a hold, settled with its capture, and used without money."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from hansa.foundation.plumbing.web.idempotency import Repeatable
from hansa.foundation.values.money import Minor, parse_amount
from hansa.rooms import ledger
from hansa.rooms.ledger import orders
from tests.registry import TestAgent, TestRegistry

SCHEMA = """
CREATE TABLE toy_token (id text PRIMARY KEY, state text NOT NULL, hold_id bigint, uses int NOT NULL DEFAULT 0);

-- The lowest place opens a token; a second line for it, or a token that is there, is refused.
CREATE FUNCTION toy_open_claim(lines jsonb) RETURNS TABLE (place int, refusal text, result jsonb) LANGUAGE sql AS $$
  WITH line AS (
    SELECT (l ->> 'place')::int AS place, l -> 'payload' ->> 'token' AS token FROM jsonb_array_elements(lines) l
  ), opened AS (
    INSERT INTO toy_token (id, state) SELECT DISTINCT token, 'open' FROM line ORDER BY token
    ON CONFLICT (id) DO NOTHING RETURNING id
  )
  SELECT l.place, CASE WHEN o.id IS NULL OR l.place > min(l.place) OVER (PARTITION BY l.token) THEN 'TOKEN_TAKEN' END,
    jsonb_build_object('token', l.token)
  FROM line l LEFT JOIN opened o ON o.id = l.token
$$;

CREATE FUNCTION toy_open_record(lines jsonb) RETURNS TABLE (place int, result jsonb) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  IF lines @> '[{"payload": {"token": "broken"}}]' THEN
    RAISE EXCEPTION 'a token that cannot be recorded';
  END IF;
  UPDATE toy_token t SET hold_id = (l ->> 'hold_id')::bigint FROM jsonb_array_elements(lines) l
  WHERE t.id = l -> 'payload' ->> 'token';
  PERFORM journal_append_decided(array_agg('ToyOpened'::text), array_agg(l -> 'payload' ->> 'token'),
    array_agg('toy'::text), array_agg(l), array_agg('registry'::text), array_agg(NULL::text))
  FROM jsonb_array_elements(lines) l;
  RETURN QUERY SELECT (l ->> 'place')::int, jsonb_build_object('hold_id', l -> 'hold_id')
  FROM jsonb_array_elements(lines) l;
END $$;

-- Ending or using an open token: compare-and-set, the lowest place first.
CREATE FUNCTION toy_change(lines jsonb, into_state text) RETURNS TABLE (place int, refusal text, result jsonb)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM FROM toy_token WHERE id IN (SELECT l -> 'payload' ->> 'token' FROM jsonb_array_elements(lines) l)
  ORDER BY id FOR NO KEY UPDATE;
  RETURN QUERY
  WITH line AS (
    SELECT (l ->> 'place')::int AS place, l -> 'payload' ->> 'token' AS token,
      row_number() OVER (PARTITION BY l -> 'payload' ->> 'token' ORDER BY (l ->> 'place')::int) AS rank
    FROM jsonb_array_elements(lines) l
  ), changed AS (
    UPDATE toy_token t SET state = into_state FROM line l
    WHERE t.id = l.token AND l.rank = 1 AND t.state = 'open' RETURNING l.place
  )
  SELECT l.place, CASE WHEN c.place IS NULL THEN 'TOKEN_NOT_OPEN' END, jsonb_strip_nulls(
    jsonb_build_object('token', l.token, 'state', CASE WHEN c.place IS NOT NULL THEN into_state END))
  FROM line l LEFT JOIN changed c ON c.place = l.place;
END $$;

CREATE FUNCTION toy_note(kind text, lines jsonb) RETURNS void LANGUAGE sql AS $$
  SELECT journal_append_decided(array_agg(kind), array_agg(l -> 'payload' ->> 'token'), array_agg('toy'::text),
    array_agg(l), array_agg('registry'::text), array_agg(NULL::text))
  FROM jsonb_array_elements(lines) l
$$;

CREATE FUNCTION toy_settle_claim(lines jsonb) RETURNS TABLE (place int, refusal text, result jsonb) LANGUAGE sql AS $$
  SELECT * FROM toy_change(lines, 'settled')
$$;
CREATE FUNCTION toy_settle_record(lines jsonb) RETURNS TABLE (place int, result jsonb) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM toy_note('ToySettled', lines);
  RETURN QUERY SELECT (l ->> 'place')::int, jsonb_build_object('tx_id', l -> 'tx_id') FROM jsonb_array_elements(lines) l;
END $$;

CREATE FUNCTION toy_use_claim(lines jsonb) RETURNS TABLE (place int, refusal text, result jsonb) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH line AS (
    SELECT (l ->> 'place')::int AS place, l -> 'payload' ->> 'token' AS token FROM jsonb_array_elements(lines) l
  ), used AS (
    UPDATE toy_token t SET uses = uses + n.lines FROM (SELECT token, count(*) AS lines FROM line GROUP BY 1) n
    WHERE t.id = n.token AND t.state = 'open' RETURNING t.id, t.uses
  )
  SELECT l.place, CASE WHEN u.id IS NULL THEN 'TOKEN_NOT_OPEN' END,
    jsonb_build_object('token', l.token, 'uses', u.uses) FROM line l LEFT JOIN used u ON u.id = l.token;
END $$;
CREATE FUNCTION toy_use_record(lines jsonb) RETURNS TABLE (place int, result jsonb) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM toy_note('ToyUsed', lines);
  RETURN QUERY SELECT (l ->> 'place')::int, '{}'::jsonb FROM jsonb_array_elements(lines) l;
END $$;

-- The owner's part of an expiry.
CREATE FUNCTION toy_token_expiry_claim(lines jsonb) RETURNS TABLE (place int, refusal text, result jsonb)
LANGUAGE sql AS $$
  SELECT c.* FROM toy_change((
    SELECT jsonb_agg(jsonb_build_object('place', l -> 'place', 'payload',
      jsonb_build_object('token', l -> 'payload' -> 'owner_id')))
    FROM jsonb_array_elements(lines) l), 'expired') c
$$;
CREATE FUNCTION toy_token_expiry_record(lines jsonb) RETURNS TABLE (place int, result jsonb) LANGUAGE plpgsql AS $$
BEGIN
  IF lines @> '[{"payload": {"owner_id": "stuck"}}]' THEN
    RAISE EXCEPTION 'a token that cannot expire';
  END IF;
  RETURN QUERY SELECT (l ->> 'place')::int, '{}'::jsonb FROM jsonb_array_elements(lines) l;
END $$;
"""


class Token(msgspec.Struct, frozen=True):
    """The payload of every kind."""

    token: str


class Opened(msgspec.Struct, frozen=True):
    token: str
    hold_id: int


class Settled(msgspec.Struct, frozen=True):
    token: str
    state: str
    tx_id: int


class Used(msgspec.Struct, frozen=True):
    token: str
    uses: int


OPEN = ledger.Extension("toy_open", Token, Opened)
SETTLE = ledger.Extension("toy_settle", Token, Settled)
USE = ledger.Extension("toy_use", Token, Used)
OWNER = "toy_token"


@dataclass(frozen=True)
class Toys:
    """A registry with this room, a payer and a payee."""

    registry: TestRegistry
    payer: TestAgent
    payee: TestAgent

    @classmethod
    async def in_registry(cls, registry: TestRegistry) -> "Toys":
        """In a registry with the tables of `SCHEMA`."""
        return cls(registry, await registry.agent(), await registry.agent())

    @property
    def book(self) -> ledger.Book:
        return ledger.Book.of(self.registry.settings)

    def gathering(self) -> ledger.GroupCommit:
        """A process of its own, as the database sees it."""
        return ledger.GroupCommit(self.registry.database, self.book)

    def opening(self, token: str, amount: str = "1", seconds: int = 3600) -> ledger.Order:
        held_for = ledger.NewHold(
            OWNER, token, self.payee.did, datetime.now(UTC) + timedelta(seconds=seconds)
        )
        return OPEN.on(orders.hold(self.payer.did, parse_amount(amount), held_for), Token(token))

    async def settling(self, token: str, amount: str = "1") -> ledger.Order:
        """The settlement of a token; its hold is looked up first, as a route would."""
        hold_id = await self.value("SELECT hold_id FROM toy_token WHERE id = $1", token)
        return SETTLE.on(orders.capture(hold_id or 0, parse_amount(amount), final=True), Token(token))

    def paying(self, amount: str = "1") -> ledger.Order:
        return orders.transfer(ledger.TransferOrder(self.payer.did, self.payee.did, parse_amount(amount)))

    def key(self, key: str, **body: Any) -> Repeatable:
        return Repeatable(self.payer.did, "/toy", key, body)

    async def value(self, query: str, *values: object) -> Any:
        return await self.registry.database.read(lambda tx: tx.fetchval(query, *values))

    async def state(self, token: str) -> str | None:
        state: str | None = await self.value("SELECT state FROM toy_token WHERE id = $1", token)
        return state

    async def events(self, kind: str) -> int:
        count: int = await self.value("SELECT count(*) FROM journal_event WHERE event_type = $1", kind)
        return count

    async def holds(self) -> tuple[Minor, Minor]:
        """Return the units of the payer: liquid, and in escrow."""
        balance = await self.registry.database.read(lambda tx: ledger.balance_of(tx, self.payer.did))
        return balance.liquid, balance.escrow
