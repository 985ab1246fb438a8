"""The tiled log: attestations, keys, cards, licences and suspensions are leaves of one tree with a signed checkpoint."""

import json
from hashlib import sha256

import asyncpg
import pytest

from hansa.doors.verification.log import judge_consistency
from hansa.foundation.plumbing.storage.log_outbox import record_leaf
from hansa.foundation.values.canonical import canonical_json
from hansa.rooms import auditor
from hansa.rooms.auditor import attestations
from hansa.rooms.auditor.transparency import notes
from hansa_verify import log, read_auditor_keys
from tests.registry import TestRegistry, another_process, at_once

ORIGIN = "hansa.local/log"


async def keys(registry: TestRegistry) -> list[bytes]:
    answer = await registry.http.get("/.well-known/auditor-jwks.json")
    return [key.public_key for key in read_auditor_keys(answer.json())]


async def checkpoint(registry: TestRegistry) -> log.Checkpoint:
    answer = await registry.http.get("/log/checkpoint")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    return log.read_checkpoint(answer.text, await keys(registry), ORIGIN)


async def tile(registry: TestRegistry, level: str, number: int, width: int):
    return await registry.http.get(f"/log/tile/{level}/{log.tile_path(number, width)}")


async def entries(registry: TestRegistry) -> list[bytes]:
    """Every entry of the log, read as a monitor reads it."""
    size, found = (await checkpoint(registry)).size, []
    while len(found) < size:
        answer = await tile(registry, "entries", len(found) // 256, min(256, size - len(found)))
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        found += log.read_entries(answer.content)
    return found


async def fill(registry: TestRegistry, count: int) -> None:
    async def record(tx) -> None:
        for number in range(count):
            await record_leaf(tx, "card", f"filler/{number}", bytes(32))

    await registry.database.transaction(record)


async def test_everything_published_is_a_leaf_under_a_signed_checkpoint(registry):
    assert (await registry.http.get("/log/checkpoint")).status_code == 404
    agent = await registry.agent()
    card = (await registry.get(f"/agents/by-did/{agent.did}")).json()
    admitted = await registry.administrator("admin_federation", "admin_enforcement")
    await registry.post(
        "/admin/federation/licence-keys", json={"trust_domain": "peer.example"}, headers=admitted.headers
    )
    body = {"agent_dids": [agent.did], "reason": "For a test."}
    await registry.post("/admin/agents/bulk/suspend", json=body, headers=admitted.headers)
    await auditor.run_cycle(registry.runtime)
    leaves = [json.loads(entry) for entry in await entries(registry)]
    assert {leaf["kind"] for leaf in leaves} == {
        "registry_key", "licensing_key", "registry_card", "auditor_key", "witness_key", "card", "licence", "suspension", "attestation"
    }  # fmt: skip
    assert all(set(leaf) == {"v", "kind", "id", "sha256", "at"} and leaf["v"] == 1 for leaf in leaves)
    by_kind = {leaf["kind"]: leaf for leaf in leaves}
    (record,) = (await registry.http.get("/api/auditor/attestations")).json()["attestations"]
    assert (by_kind["attestation"]["id"], by_kind["attestation"]["sha256"]) == ("1", record["digest"])
    key = (await keys(registry))[0]
    assert by_kind["auditor_key"]["sha256"] == sha256(key).hexdigest()
    assert by_kind["suspension"]["id"] == agent.did
    assert by_kind["card"]["id"] == f"{card['id']}/1"
    versions = await registry.get(f"/agent-cards/{card['id']}/versions")
    assert by_kind["card"]["sha256"] in versions.text
    found = await checkpoint(registry)
    assert log.root_of([log.leaf_hash(entry) for entry in await entries(registry)]) == found.root


async def test_a_record_has_its_proof_from_the_next_checkpoint_on(registry):
    admin = await registry.administrator("admin_treasury")
    answer = await registry.post(
        "/admin/set-native-baseline", json={"baseline": "1", "ref": "r"}, headers=admin.headers
    )
    assert answer.json()["proof"] is None
    record = (await registry.http.get("/api/auditor/attestations/1")).json()
    assert record["proof"] is None
    assert (await registry.http.get("/log/proof?kind=attestation&id=1")).status_code == 404
    for _ in range(3):
        await auditor.run_cycle(registry.runtime)
        await fill(registry, 5)
    found = await checkpoint(registry)
    page = (await registry.http.get("/api/auditor/attestations")).json()["attestations"]
    for record in page:
        proof = record["proof"]
        whole = (await registry.http.get(f"/log/proof?kind=attestation&id={record['id']}")).json()
        assert {name: whole[name] for name in proof} == proof
        assert json.loads(whole["entry"])["sha256"] == record["digest"]
        assert (await registry.http.get(f"/log/proof?index={proof['index']}")).json() == whole
        hashes = [log.read_hash(one) for one in proof["hashes"]]
        leaf = log.leaf_hash(whole["entry"].encode())
        assert log.proves_inclusion(proof["index"], found.size, leaf, hashes, found.root)
    for query in ("", "?index=999", "?kind=attestation&id=999", "?kind=card"):
        assert (await registry.http.get(f"/log/proof{query}")).status_code == 404
    assert (await registry.http.get("/log/proof?index=-1")).status_code == 422


async def test_tiles_never_change_and_the_log_only_grows(registry):
    await auditor.run_cycle(registry.runtime)
    old = await checkpoint(registry)
    partial = (await tile(registry, "0", 0, old.size)).content
    await fill(registry, 600)
    await auditor.run_cycle(registry.runtime)
    new = await checkpoint(registry)
    assert new.size > 600
    hashes = (await tile(registry, "0", 0, 256)).content
    assert hashes.startswith(partial)
    assert (await tile(registry, "0", 0, old.size)).content == partial
    assert b"".join(log.leaf_hash(entry) for entry in (await entries(registry))[:256]) == hashes
    upper = (await tile(registry, "1", 0, 2)).content
    assert upper[:32] == log.root_of([hashes[place : place + 32] for place in range(0, 8192, 32)])
    answer = (await registry.http.get(f"/log/consistency?old_size={old.size}")).json()
    proof = [log.read_hash(one) for one in answer["hashes"]]
    assert log.proves_consistency(old.size, new.size, old.root, new.root, proof)
    assert (await registry.http.get(f"/log/consistency?old_size={new.size + 1}")).status_code == 404
    for path in (
        "0/x001/000",
        "0/000.p/256",
        "0/000.p/0",
        "00/000",
        "9/000",
        "0/0",
        "0/x000",
        "entries/x001/000",
        "a",
        "",
    ):
        assert (await registry.http.get(f"/log/tile/{path}")).status_code == 404, path
    for statement in ("DELETE FROM auditor_log_leaf", "UPDATE auditor_log_node SET hash = hash"):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await registry.database.transaction(lambda tx, statement=statement: tx.execute(statement))


async def test_a_checkpoint_is_signed_by_both_keys_for_seven_days_after_a_rotation(registry):
    admin = await registry.administrator("admin_platform")
    await auditor.run_cycle(registry.runtime)
    await registry.post("/admin/auditor-signing-key/rotate", headers=admin.headers)
    await auditor.run_cycle(registry.runtime)
    new, old = await keys(registry)
    note = (await registry.http.get("/log/checkpoint")).text
    assert log.read_checkpoint(note, [old]) == log.read_checkpoint(note, [new])
    aged = (
        "SET LOCAL session_replication_role = replica; UPDATE auditor_key SET"
        " valid_from = valid_from - interval '8 days', retired_at = retired_at - interval '8 days'"
    )
    await registry.database.transaction(lambda tx: tx.execute(aged))
    await auditor.run_cycle(registry.runtime)
    note = (await registry.http.get("/log/checkpoint")).text
    with pytest.raises(log.BadCheckpoint):
        log.read_checkpoint(note, [old])


async def test_a_checkpoint_counts_under_a_retired_key_up_to_the_size_that_the_log_had_at_its_retirement(
    registry,
):
    admin = await registry.administrator("admin_platform")
    await fill(registry, 3)
    await auditor.run_cycle(registry.runtime)
    kept = (await registry.http.get("/log/checkpoint")).text
    (old_private,) = await registry.database.query(
        lambda tx: attestations.checkpoint_keys(tx, registry.runtime.seal)
    )
    await registry.post("/admin/auditor-signing-key/rotate", headers=admin.headers)
    await fill(registry, 2)
    await auditor.run_cycle(registry.runtime)
    key_set = read_auditor_keys((await registry.http.get("/.well-known/auditor-jwks.json")).json())
    old_size = int(kept.split("\n")[1])
    assert [key.retired_at_size for key in key_set] == [None, old_size]
    growth = (await registry.http.get(f"/log/consistency?old_size={old_size}")).json()
    assert judge_consistency(growth, key_set, kept).is_valid
    # Whoever took the retired key signs a tree of their own that is larger.
    size, root = old_size + 1, bytes(32)
    forged = notes.signed_note(notes.checkpoint_text(ORIGIN, size, root), ORIGIN, [old_private])
    assert log.read_checkpoint(forged, [key_set[1].public_key]).size == size
    with pytest.raises(log.UnsignedCheckpoint, match=f"had at {size} leaves"):
        log.read_checkpoint_of(forged, key_set)
    assert judge_consistency({**growth, "checkpoint": forged}, key_set, kept).code == "checkpoint"
    changed = "UPDATE auditor_key SET retired_at_size = 10 ^ 6 WHERE retired_at IS NOT NULL"
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await registry.database.transaction(lambda tx: tx.execute(changed))


async def test_however_rotations_and_cycles_meet_every_checkpoint_is_by_a_key_of_its_size(registry):
    admin = await registry.administrator("admin_platform")
    await auditor.run_cycle(registry.runtime)

    async def rotate_and_fill() -> None:
        rotated = await registry.post("/admin/auditor-signing-key/rotate", headers=admin.headers)
        assert rotated.status_code == 200, rotated.text
        await fill(registry, 5)

    other = another_process(registry.runtime)
    for _ in range(3):
        cycles = (auditor.run_cycle(runtime) for runtime in (registry.runtime, other) * 2)
        await at_once(*(rotate_and_fill() for _ in range(2)), *cycles)
    await auditor.run_cycle(registry.runtime)
    key_set = read_auditor_keys((await registry.http.get("/.well-known/auditor-jwks.json")).json())
    kept = await registry.database.query(lambda tx: tx.fetch("SELECT size, note FROM auditor_log_checkpoint"))
    sizes = [log.read_checkpoint_of(row["note"], key_set).size for row in kept]
    retired_at = [key.retired_at_size for key in key_set if key.retired_at_size is not None]
    assert (len(retired_at), len(sizes) > 1, max(sizes) > max(retired_at)) == (6, True, True)


async def test_what_is_not_committed_is_no_leaf_and_many_sequencers_make_one_log(registry):
    other = another_process(registry.runtime)

    async def refused(tx) -> None:
        await record_leaf(tx, "card", "never", bytes(32))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await registry.database.transaction(refused)
    await at_once(
        *(auditor.run_cycle(runtime) for runtime in (registry.runtime, other) * 3),
        *(fill(registry, 20) for _ in range(5)),
    )
    await auditor.run_cycle(registry.runtime)
    found = [json.loads(entry) for entry in await entries(registry)]
    assert sum(leaf["id"].startswith("filler/") for leaf in found) == 100
    assert not [leaf for leaf in found if leaf["id"] == "never"]
    assert [canonical_json(leaf) for leaf in found] == await entries(registry)
    size, waiting = await registry.database.query(
        lambda tx: tx.fetchrow("SELECT size, (SELECT count(*) FROM plumbing_log_outbox) FROM auditor_log")
    )
    assert (size, waiting) == (len(found), 0)


@pytest.mark.usefixtures("unknown_paths_expected")
async def test_a_tile_is_answered_like_any_other_route_whatever_is_asked_below_its_prefix(registry):
    await auditor.run_cycle(registry.runtime)
    size = int((await registry.http.get("/log/checkpoint")).text.split("\n")[1])
    path = f"/log/tile/0/000.p/{size}"
    tile, head = await registry.http.get(path), await registry.http.head(path)
    assert (tile.status_code, len(tile.content)) == (200, 32 * size)
    assert (head.status_code, head.headers["content-length"]) == (200, str(32 * size))
    for answer in (tile, head):
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["x-request-id"]
    for other in (
        "",
        "0",
        "0/0",
        "00/000",
        "63/000",
        "0/x000",
        "0/001",
        "0/000.p/0",
        "0/000.p/256",
        "e/000",
        "0/000/",
    ):
        missing = await registry.http.get(f"/log/tile/{other}")
        assert (missing.status_code, missing.json()["error"]["code"]) == (404, "TILE_NOT_FOUND"), other
    assert (await registry.http.post(path)).status_code == 405
    assert (await registry.http.get("/log/tile")).status_code == 404
