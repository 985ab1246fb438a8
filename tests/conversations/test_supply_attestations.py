"""Supply attestations: one signed record for each audit cycle, in one chain that anyone verifies."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import asyncpg
import pytest

from hansa.doors.verification.attestations import ChainToVerify, verify_chain
from hansa.rooms import auditor
from hansa_verify import read_auditor_keys, read_export, verify_attestations
from tests.registry import TestRegistry, another_process, at_once
from tests.rooms.ledger.treasury import destroy

KEY_SET = "/.well-known/auditor-jwks.json"
RECORDS = "/api/auditor/attestations"
MEMBERS = {
    "standard", "kind", "auditor_version", "frame", "currency", "ts", "audit_row_id", "as_of_event_seq", "terms", "delta", "liabilities",
    "status", "live_status", "maintenance", "native", "checks", "prev_hash",
}  # fmt: skip


async def cycle(registry: TestRegistry) -> None:
    """A cycle of the auditor, also when there was one a moment ago."""
    await sql(
        registry,
        "SET LOCAL session_replication_role = replica; UPDATE auditor_verdict SET checked_at = '2026-01-01'",
    )
    await auditor.run_cycle(registry.runtime)


async def sql(registry: TestRegistry, statements: str) -> None:
    await registry.database.transaction(lambda tx: tx.execute(statements))


async def keys(registry: TestRegistry):
    answer = await registry.http.get(KEY_SET)
    assert answer.status_code == 200
    return answer.json()


async def records(registry: TestRegistry):
    """The whole chain, the first record first."""
    answer = await registry.http.get(f"{RECORDS}?limit=200")
    assert answer.status_code == 200, answer.text
    return read_export(answer.text)[0][::-1]


async def verdict(registry: TestRegistry, **how):
    return verify_attestations(
        await records(registry), read_auditor_keys(await keys(registry)), exact=True, **how
    )


async def newest(registry: TestRegistry):
    """Return the payload of the newest record; amounts as they are written."""
    return json.loads((await records(registry))[-1]["payload"], parse_float=str)


async def act(registry: TestRegistry, admin, path: str, **body):
    return await registry.post(f"/admin/{path}", json=body, headers=admin.headers)


async def test_one_audit_record_for_each_cycle_with_all_members_signed_and_chained(registry):
    assert (await registry.http.get(f"{RECORDS}/head")).status_code == 404
    assert (await registry.http.get(f"{RECORDS}/1")).status_code == 404
    for _ in range(3):
        await cycle(registry)
    chain = await records(registry)
    assert [record["id"] for record in chain] == [1, 2, 3]
    assert chain[0]["prev_hash"] == "0" * 64
    for record in chain:
        assert set(record) >= {
            "id",
            "frame",
            "ts",
            "kind",
            "payload",
            "digest",
            "prev_hash",
            "signature",
            "kid",
        }
        assert (await registry.http.get(f"{RECORDS}/{record['id']}")).json() == record
    said = await newest(registry)
    assert set(said) == MEMBERS
    assert (said["standard"], said["kind"], said["frame"]) == ("SA-1.0", "audit", "hansa.local")
    assert said["native"] == {"ok": True, "basis": "typed_mints_complete", "gap": 0, "gap_rebased": 0}
    head = (await registry.http.get(f"{RECORDS}/head")).json()
    assert head == {name: chain[-1][name] for name in ("id", "frame", "ts", "kind", "digest", "kid")}
    found = await verdict(registry, max_age=timedelta(minutes=10))
    assert (found.code, found.records, found.warnings) == ("verified", 3, ())
    # A cycle that has its record gets no second one.
    await auditor.run_cycle(registry.runtime)
    assert len(await records(registry)) == 3


async def test_the_list_is_newest_first_with_at_most_200_records_of_one_frame(registry):
    for _ in range(3):
        await cycle(registry)
    page = (await registry.http.get(f"{RECORDS}?limit=2")).json()
    assert [record["id"] for record in page["attestations"]] == [3, 2]
    assert (page["standard"], page["kid"]) == ("SA-1.0", (await keys(registry))["keys"][0]["kid"])
    page = (await registry.http.get(f"{RECORDS}?before_id=2")).json()
    assert [record["id"] for record in page["attestations"]] == [1]
    assert (await registry.http.get(f"{RECORDS}?frame=other.example")).json()["attestations"] == []
    assert (await registry.http.get(f"{RECORDS}/head?frame=other.example")).status_code == 404
    for query in ("limit=0", "limit=201", "before_id=0", "before_id=x", "frame="):
        assert (await registry.http.get(f"{RECORDS}?{query}")).status_code == 422
    answer = await registry.http.get(RECORDS)
    assert answer.headers["access-control-allow-origin"] == "*"


async def test_terms_and_delta_are_json_numbers_with_all_their_digits(registry):
    await destroy(registry, 25_000_000_001, "board")
    await cycle(registry)
    said = await newest(registry)
    assert said["terms"] == {
        "issued": 1000000,
        "destroyed": "250.00000001",
        "transit_net": 0,
        "net_supply": "999749.99999999",
        "circulating": "999749.99999999",
    }
    assert (said["delta"], said["status"], said["native"]["ok"]) == (0, "OK", True)


async def test_a_breach_is_attested_with_its_delta_and_the_chain_stays_valid(registry):
    agent = await registry.agent()
    await sql(registry, f"UPDATE ledger_account SET liquid = liquid + 1 WHERE did = '{agent.did}'")
    await cycle(registry)
    said = await newest(registry)
    assert (said["delta"], said["status"], said["live_status"]) == ("-0.00000001", "BREACH", "BREACH")
    assert said["native"] == {
        "ok": False, "basis": "typed_mints_complete", "gap": "0.00000001", "gap_rebased": "0.00000001"
    }  # fmt: skip
    found = await verdict(registry)
    assert (found.code, [warning.code for warning in found.warnings]) == ("verified", ["breach"])


async def test_a_native_baseline_is_set_and_removed_by_records_of_the_chain(registry):
    admin = await registry.administrator("admin_treasury")
    await cycle(registry)
    answer = await act(registry, admin, "set-native-baseline", baseline="12.5", ref="Units from before.")
    assert answer.status_code == 200, answer.text
    said = json.loads(answer.json()["payload"])
    assert set(said) == {
        "standard",
        "kind",
        "auditor_version",
        "frame",
        "ts",
        "entry",
        "ref",
        "rail",
        "prev_hash",
    }
    assert said["entry"] == {"baseline": 12.5, "set_at": said["ts"], "ref": "Units from before."}
    assert (said["kind"], said["rail"]) == ("baseline_set", "admin/set-native-baseline")
    await cycle(registry)
    assert (await newest(registry))["native"] == {
        "ok": False, "basis": "writedown_rebaselined", "gap": 0, "gap_rebased": "-12.5"
    }  # fmt: skip
    answer = await act(registry, admin, "set-native-baseline", baseline=None, ref="Written down.")
    assert json.loads(answer.json()["payload"])["entry"] is None
    await cycle(registry)
    assert (await newest(registry))["native"]["basis"] == "typed_mints_complete"
    assert (await verdict(registry)).code == "verified"

    before = await records(registry)
    assert (await act(registry, admin, "set-native-baseline", baseline=None, ref="Again.")).status_code == 409
    for baseline in ("0", "-1", 5, "1e3"):
        assert (
            await act(registry, admin, "set-native-baseline", baseline=baseline, ref="x")
        ).status_code == 422
    assert (await act(registry, admin, "set-native-baseline", baseline="1", ref="")).status_code == 422
    other = await registry.administrator("admin_platform")
    assert (await act(registry, other, "set-native-baseline", baseline="1", ref="x")).status_code == 403
    assert await records(registry) == before


async def test_transit_is_rebaselined_by_a_record_of_the_chain(registry):
    admin = await registry.administrator("admin_treasury")
    assert (await act(registry, admin, "rebaseline-transit", ref="Too early.")).status_code == 409
    await cycle(registry)
    answer = await act(registry, admin, "rebaseline-transit", ref="Reconciled with the peers.")
    said = json.loads(answer.json()["payload"])
    assert {name: said[name] for name in ("old_baseline", "old_drift", "new_baseline", "ref", "rail")} == {
        "old_baseline": 0,
        "old_drift": 0,
        "new_baseline": 0,
        "ref": "Reconciled with the peers.",
        "rail": "admin/rebaseline-transit",
    }
    await cycle(registry)
    assert (await newest(registry))["native"]["basis"] == "federated_reconciled"
    assert (await verdict(registry)).code == "verified"


async def test_the_key_set_is_503_and_empty_when_there_is_no_signing_key(registry):
    await sql(registry, "SET LOCAL session_replication_role = replica; DELETE FROM auditor_key")
    answer = await registry.http.get(KEY_SET)
    assert (answer.status_code, answer.json()["keys"]) == (503, [])


async def test_a_retired_key_verifies_what_it_signed_and_nothing_later(registry):
    platform = await registry.administrator("admin_platform")
    await cycle(registry)
    (first,) = (await keys(registry))["keys"]
    assert set(first) == {"kty", "crv", "x", "kid", "use", "alg"}
    log_size = int((await registry.http.get("/log/checkpoint")).text.split("\n")[1])
    answer = await act(registry, platform, "auditor-signing-key/rotate", reason="A drill.")
    assert answer.status_code == 200, answer.text
    await cycle(registry)
    assert (await keys(registry))["keys"] == [
        answer.json(),
        {**first, "retired_at_id": 1, "retired_at_size": log_size},
    ]
    assert [record["kid"] for record in await records(registry)] == [first["kid"], answer.json()["kid"]]
    assert (await verdict(registry)).code == "verified"
    chain = await records(registry)
    retired_before = read_auditor_keys({"keys": [answer.json(), {**first, "retired_at_id": 0}]})
    assert verify_attestations(chain, retired_before).code == "C1"

    sealed = "SELECT count(sealed_key) FROM auditor_key"
    assert await registry.database.query(lambda tx: tx.fetchval(sealed)) == 2
    await sql(
        registry,
        "SET LOCAL session_replication_role = replica; UPDATE auditor_key SET"
        " valid_from = valid_from - interval '8 days', retired_at = retired_at - interval '8 days'",
    )
    await registry.database.transaction(auditor.attestations.forget_retired_keys)
    assert await registry.database.query(lambda tx: tx.fetchval(sealed)) == 1


async def test_a_time_without_cycles_is_a_gap_in_the_next_record(registry):
    await cycle(registry)
    (before,) = await records(registry)
    await sql(registry, "UPDATE auditor_chain SET audited_ts = audited_ts - interval '1 hour'")
    await cycle(registry)
    said = await newest(registry)
    assert set(said) == {*MEMBERS, "gap"}
    assert said["gap"]["from"] < before["ts"] < said["gap"]["to"] == said["ts"]
    assert [warning.code for warning in (await verdict(registry)).warnings] == ["gap"]
    page = (await registry.http.get("/supply")).text
    assert "Gap" in page
    assert "Watched" in page


async def test_a_reading_that_fails_is_attested_as_unknown(registry):
    await cycle(registry)
    await sql(registry, "ALTER TABLE auditor_folded RENAME TO auditor_folded_away")
    with pytest.raises(asyncpg.UndefinedTableError):
        await cycle(registry)
    said = await newest(registry)
    assert [said[name] for name in ("terms", "delta", "status", "as_of_event_seq")] == [None] * 4
    assert said["native"] == {"ok": None, "basis": "coverage_unknown", "gap": None, "gap_rebased": None}
    await sql(registry, "ALTER TABLE auditor_folded_away RENAME TO auditor_folded")
    await cycle(registry)
    rows = [json.loads(record["payload"])["audit_row_id"] for record in await records(registry)]
    assert rows == sorted(set(rows))
    assert (await verdict(registry)).code == "verified"


async def test_many_writers_append_to_one_chain(registry):
    admin = await registry.administrator("admin_treasury", "admin_platform")
    other = another_process(registry.runtime)
    await at_once(
        *(auditor.run_cycle(runtime) for runtime in (registry.runtime, other) * 3),
        *(act(registry, admin, "set-native-baseline", baseline=str(n), ref="r") for n in range(1, 9)),
        *(act(registry, admin, "auditor-signing-key/rotate") for _ in range(3)),
    )
    found = await verdict(registry)
    assert (found.code, found.records) == ("verified", 9)


async def test_the_database_keeps_every_record_and_key(registry):
    await cycle(registry)
    for statement in (
        "UPDATE auditor_attestation SET kid = kid",
        "DELETE FROM auditor_attestation",
        "TRUNCATE auditor_attestation",
        "DELETE FROM auditor_key",
        "UPDATE auditor_key SET valid_from = now()",
        "TRUNCATE auditor_key CASCADE",
    ):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await sql(registry, statement)
    fork = (
        "INSERT INTO auditor_attestation SELECT 2, frame, ts, kind, payload, digest, prev_hash, signature, kid, 99"
        " FROM auditor_attestation"
    )
    with pytest.raises(asyncpg.UniqueViolationError):
        await sql(registry, fork)


async def test_a_head_older_than_ten_minutes_is_shown_as_unwatched(registry):
    async def shown() -> str:
        return (await registry.http.get("/health")).json()["attestations"]["status"]

    assert await shown() == "unwatched"
    assert "Not attested yet" in (await registry.http.get("/")).text
    await cycle(registry)
    assert await shown() == "watched"
    assert "Attested" in (await registry.http.get("/")).text
    await sql(
        registry,
        "SET LOCAL session_replication_role = replica; UPDATE auditor_attestation SET ts = ts - interval '11 minutes'",
    )
    assert await shown() == "unwatched"
    assert "Unwatched" in (await registry.http.get("/")).text
    assert "Unwatched" in (await registry.http.get("/supply")).text


async def test_the_list_of_a_registry_is_verified_in_the_order_in_which_it_is_served(
    registry: TestRegistry, tmp_path: Path
):
    admin = await registry.administrator("admin_treasury")
    for number in range(1, 4):
        await act(registry, admin, "set-native-baseline", baseline=str(number), ref="counted")
    page, saved = (await registry.http.get(f"{RECORDS}?limit=200")).text, tmp_path / "page.json"
    saved.write_text(page)
    key_set = tmp_path / "keys.json"
    key_set.write_text(json.dumps(await keys(registry)))
    asked = ChainToVerify(str(saved), str(key_set), exact=True, max_age=None, export=None)
    assert verify_chain(asked).code == "verified"
    async with registry.listening() as place:
        address = f"http://{place}{RECORDS}?limit=200"
        found = await asyncio.to_thread(
            verify_chain, ChainToVerify(address, None, exact=True, max_age=None, export=None)
        )
    assert (found.code, found.records, found.warnings) == ("verified", 3, ())


async def test_an_audit_states_that_what_circulates_was_issued(registry: TestRegistry):
    await auditor.run_cycle(registry.runtime)
    assert (await newest(registry))["checks"]["solvency"] == "SOLVENT"


@pytest.mark.parametrize(
    "number", ["0", "-1", "1.5", "abc", "+1", "9223372036854775808", "1" * 40, "%C2%B2", "%D9%A1"]
)
async def test_an_id_of_no_record_is_a_404_whatever_its_form(registry: TestRegistry, number: str):
    await auditor.run_cycle(registry.runtime)
    answer = await registry.http.get(f"{RECORDS}/{number}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "ATTESTATION_NOT_FOUND")
