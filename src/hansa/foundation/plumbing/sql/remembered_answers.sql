-- Answers kept under an idempotency key, for many requests in one statement.
-- after: plumbing/standbys.sql

-- What is known of these requests, in their order; a null scope is a request without a key. A new request holds its
-- scope until the transaction ends: `held` is false where another transaction holds it. A transaction that finds an answer
-- waits for the standbys at its commit: the answer may be one that only this server has.
CREATE OR REPLACE FUNCTION plumbing_recall(scopes bytea[], window_hours int,
  OUT held boolean[], OUT body_digests bytea[], OUT answers text[])
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  known plumbing_idempotency;
  place int;
  has_answer boolean := false;
BEGIN
  held := '{}';
  FOR i IN 1 .. cardinality(scopes) LOOP
    held := held || (scopes[i] IS NULL
      OR pg_try_advisory_xact_lock(('x' || encode(substr(scopes[i], 1, 8), 'hex'))::bit(64)::bigint));
  END LOOP;
  body_digests := array_fill(NULL::bytea, ARRAY[cardinality(scopes)]);
  answers := array_fill(NULL::text, ARRAY[cardinality(scopes)]);
  -- A statement of its own after the locks: it must see what a rival committed.
  FOREACH known IN ARRAY ARRAY(SELECT i FROM plumbing_idempotency i WHERE i.scope_sha256 = ANY (scopes)) LOOP
    place := array_position(scopes, known.scope_sha256);
    IF NOT held[place] THEN
      CONTINUE;
    ELSIF known.created_at <= now() - make_interval(hours => window_hours) THEN
      DELETE FROM plumbing_idempotency WHERE scope_sha256 = known.scope_sha256;
      CONTINUE;
    END IF;
    body_digests[place] := known.body_digest;
    answers[place] := known.answer;
    has_answer := true;
  END LOOP;
  IF has_answer THEN
    PERFORM plumbing_await_standbys();
  END IF;
END $$;

-- The remembered answer of one scope, read without holding it; null where there is none.
CREATE OR REPLACE FUNCTION plumbing_answer(scope bytea, window_hours int) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  known text := (SELECT i.answer FROM plumbing_idempotency i
    WHERE i.scope_sha256 = scope AND i.created_at > now() - make_interval(hours => window_hours));
BEGIN
  IF known IS NOT NULL THEN
    PERFORM plumbing_await_standbys();
  END IF;
  RETURN known;
END $$;

-- Keep the answers of requests whose scopes `plumbing_recall` holds and found no answer for; a null answer and one without
-- scope are left out. In plpgsql, because there its plan is cached.
CREATE OR REPLACE FUNCTION plumbing_remember(scopes bytea[], body_digests bytea[], answers text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO plumbing_idempotency (scope_sha256, body_digest, answer)
  SELECT scopes[i], body_digests[i], answers[i] FROM generate_series(1, cardinality(answers)) i
  WHERE scopes[i] IS NOT NULL AND answers[i] IS NOT NULL;
END $$;
