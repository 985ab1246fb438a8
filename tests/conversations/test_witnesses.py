"""Witnesses (C2SP tlog-witness): a registry cosigns other logs, and asks its witnesses to cosign its own."""

import random
from base64 import b64decode, b64encode
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey
from msgspec.structs import replace

from hansa.foundation.plumbing.keys.authority import IdentityAuthority
from hansa.foundation.plumbing.keys.key_files import Keyring
from hansa.foundation.plumbing.outgoing import Answer, Outgoing
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.log_outbox import record_leaf
from hansa.foundation.values import merkle
from hansa.rooms import auditor
from hansa.rooms.auditor.transparency import notes, publish_cosigned
from hansa.rooms.auditor.witnessing import forget_retired_witness_keys, store
from hansa.rooms.auditor.witnessing.keys import verifier_key
from hansa.rooms.auditor.witnessing.peer_logs import PEERS_ASKED_MAX
from hansa.rooms.auditor.witnessing.records import PeerLog
from hansa_verify import (
    LOG_KEY,
    ML_DSA_WITNESS_KEY,
    WITNESS_KEY,
    VerifierKey,
    decoded,
    find_cosignature,
    log,
    read_auditor_keys,
    read_verifier_key,
)
from hansa_verify.log import cosignature_line, cosigned_message
from tests.crossing.test_shared_namespaces import FRAME, add_peer, card_of_peer
from tests.doors.served import served
from tests.registry import at_once

ORIGIN = "log.example/1"
SIZE_TYPE = "text/x.tlog.size"


class OtherLog:
    """A log of somebody else, of which every size can be signed."""

    def __init__(self, leaves: int = 40, *, seed: int = 1, salt: bytes = b"") -> None:
        self.key = Ed25519PrivateKey.from_private_bytes(random.Random(seed).randbytes(32))
        hashes = [merkle.leaf_hash(salt + bytes([number])) for number in range(leaves)]
        self.nodes = merkle.appended(0, {}, hashes)

    @property
    def verifier_key(self) -> str:
        return VerifierKey(ORIGIN, self.key.public_key().public_bytes_raw(), LOG_KEY).text

    def note(self, size: int, origin: str = ORIGIN) -> str:
        text = notes.checkpoint_text(origin, size, merkle.fold((0, size), self.nodes))
        return notes.signed_note(text, origin, [self.key])

    def proof(self, old: int, size: int) -> list[str]:
        path = merkle.consistency_path(old, size)
        return [b64encode(merkle.fold(leaves, self.nodes)).decode() for leaves in path]

    def body(self, old: int, size: int) -> str:
        return body(old, self.proof(old, size), self.note(size))


def spoilt(note: str) -> str:
    """The note with a second line of the same key, which does not verify: malformed, as C2SP signed-note says."""
    line = note.splitlines()[-1]
    name, _, signature = line.rpartition(" ")
    raw = b64decode(signature)
    return f"{note}{name} {b64encode(raw[:-1] + bytes([raw[-1] ^ 1])).decode()}\n"


def body(old: object, hashes: list[str], note: str) -> str:
    return "\n".join([f"old {old}", *hashes]) + "\n\n" + note


@pytest.fixture
async def witness(start_registry):
    return await start_registry(witnessed_logs=[OtherLog().verifier_key])


async def submit(registry, text: str | bytes):
    content = text.encode() if isinstance(text, str) else text
    return await registry.http.post("/witness/add-checkpoint", content=content)


async def key_of(registry) -> VerifierKey:
    return (await keys_of(registry))[0]


async def keys_of(registry) -> tuple[VerifierKey, VerifierKey]:
    """The Ed25519 key and the ML-DSA-44 key."""
    shown = (await registry.http.get("/witness")).json()
    return (
        read_verifier_key(shown["key"], WITNESS_KEY),
        read_verifier_key(shown["ml_dsa_44_key"], ML_DSA_WITNESS_KEY),
    )


async def test_a_witness_cosigns_a_log_that_grows_and_shows_what_it_cosigned_last(witness):
    other, keys, known = OtherLog(), await keys_of(witness), 0
    assert {key.name for key in keys} == {"hansa.local/witness"}
    for size in (0, 1, 7, 7, 8, 40):
        answer = await submit(witness, other.body(known, size))
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8")
        found = [find_cosignature(answer.text, log.text_of(other.note(size)), key) for key in keys]
        assert answer.text == "".join(f"{line}\n" for _, line in found)
        assert found[0][0] == found[1][0] > 0
        shown = (await witness.http.get("/witness")).json()["logs"]
        assert [(one["origin"], one["size"]) for one in shown] == [(ORIGIN, size)]
        assert shown[0]["root"] == merkle.fold((0, size), other.nodes).hex()
        known = size


async def test_the_refusals_are_404_403_400_409_and_422_and_change_nothing(witness):
    other, stranger = OtherLog(), OtherLog(seed=2)
    assert (await submit(witness, other.body(0, 20))).status_code == 200
    before = (await witness.http.get("/witness")).json()
    forged = body(20, other.proof(20, 30), stranger.note(30))
    split = OtherLog(salt=b"x")
    refused = [
        (404, body(20, other.proof(20, 30), other.note(30, "unknown.example/log"))),
        (403, forged),
        (403, body(20, other.proof(20, 30), spoilt(other.note(30)))),
        (400, body(31, [], other.note(30))),
        (409, other.body(0, 30)),
        (409, other.body(19, 30)),
        (409, other.body(30, 30)),
        (422, body(20, other.proof(20, 30)[1:], other.note(30))),
        (422, body(20, [*other.proof(20, 30), b64encode(bytes(32)).decode()], other.note(30))),
        (422, split.body(20, 30)),
        (422, body(20, [], split.note(20))),
        (422, body(20, other.proof(20, 30), other.note(20))),
    ]
    for status, text in refused:
        answer = await submit(witness, text)
        assert answer.status_code == status, (status, text, answer.text)
        if status == 409:
            assert (answer.headers["content-type"].partition(";")[0], answer.text) == (SIZE_TYPE, "20\n")
    assert (await witness.http.get("/witness")).json() == before


async def test_an_invalid_body_is_refused_with_400_and_a_sentence(witness):
    note = OtherLog().note(3)
    bodies = [
        "", "old 0", "old 0\n", f"old 00\n\n{note}", f"old -1\n\n{note}", f"old 1e3\n\n{note}", f"new 0\n\n{note}",
        f"old 0\nnot base64\n\n{note}", f"old 0\n{b64encode(bytes(31)).decode()}\n\n{note}", body(0, [""], note),
        body(0, [b64encode(bytes(32)).decode()] * 64, note), f"old {2**70}\n\n{note}",
        b"\xff\xfe", b"old 0\n\n" + b"\x00" * 100,
    ]  # fmt: skip
    for text in bodies:
        answer = await submit(witness, text)
        assert answer.status_code in {400, 404}, (text, answer.status_code)
        assert answer.json()["error"]["detail"]
    broken = note.replace("\n3\n", "\n03\n")
    assert (await submit(witness, body(0, [], broken))).status_code == 400
    assert (await submit(witness, "x" * 70_000)).status_code == 413
    assert (await witness.http.get("/witness")).json()["logs"] == []


async def test_of_many_checkpoints_at_once_one_after_the_other_is_cosigned_and_no_size_falls(witness):
    other, key = OtherLog(), await key_of(witness)
    answers = await at_once(*(submit(witness, other.body(0, size)) for size in range(1, 13)))
    cosigned = [answer for answer in answers if answer.status_code == 200]
    assert len(cosigned) == 1
    assert {answer.status_code for answer in answers} == {200, 409}
    (shown,) = (await witness.http.get("/witness")).json()["logs"]
    assert find_cosignature(cosigned[0].text, log.text_of(other.note(shown["size"])), key)
    stale = [answer for answer in answers if answer.status_code == 409]
    assert {answer.text for answer in stale} == {f"{shown['size']}\n"}
    base = shown["size"]
    answers = await at_once(*(submit(witness, other.body(base, size)) for size in range(base, base + 12)))
    moved = (await witness.http.get("/witness")).json()["logs"][0]["size"]
    grown = [
        size
        for size, answer in zip(range(base, base + 12), answers, strict=True)
        if answer.status_code == 200
    ]
    assert [size for size in grown if size > base] in ([], [moved])


async def test_a_registry_asks_its_witnesses_and_serves_their_cosignatures_with_its_checkpoint(
    start_registry,
):
    own = await start_registry()
    await auditor.run_cycle(own.runtime)
    key_set = (await own.http.get("/.well-known/auditor-jwks.json")).json()
    public = [key.public_key for key in read_auditor_keys(key_set)]
    trusted = VerifierKey("hansa.local/log", public[0], LOG_KEY).text
    async with served(start_registry, trust_domain="witness.example", witnessed_logs=[trusted]) as other:
        place = f"127.0.0.1:{other.settings.port}"
        key, ml_dsa_44 = await keys_of(other)
        silent = VerifierKey("silent.example/w", bytes.fromhex("01" * 32), WITNESS_KEY)
        named = [f"{one.text}@http://{place}/witness" for one in (ml_dsa_44, key)]
        named.append(f"{silent.text}@http://127.0.0.1:9/w")
        asking = replace(
            own.runtime,
            settings=own.settings.model_copy(update={"log_witnesses": named}),
            outgoing=Outgoing([place, "127.0.0.1:9"]),
        )
        for count in (0, 300, 1):
            await own.database.transaction(lambda tx, count=count: fill(tx, count))
            await cycle(own)
            await auditor.ask_witnesses(asking)
            note = (await own.http.get("/log/checkpoint")).text
            assert all(find_cosignature(note, log.text_of(note), one) for one in (key, ml_dsa_44))
            size = log.read_checkpoint(note, public).size
            (shown,) = (await other.http.get("/witness")).json()["logs"]
            assert (shown["origin"], shown["size"]) == ("hansa.local/log", size)
        rows = await own.database.query(
            lambda tx: tx.fetch("SELECT name, size, trouble FROM auditor_log_witness ORDER BY name")
        )
        assert [row["size"] for row in rows] == [None, size]
        assert rows[0]["trouble"]
        assert rows[1]["trouble"] is None
        listed = await own.database.query(lambda tx: auditor.list_log_witnesses(tx, asking.settings))
        shown = auditor.LogWitnessesOut.of(listed).witnesses[0]
        assert (shown.key, shown.ml_dsa_44_key) == (key.text, ml_dsa_44.text)
        assert shown.cosigned_with == ["Ed25519", "ML-DSA-44"]
        # A witness whose one key alone is known here is used with that one.
        for one in (key, ml_dsa_44):
            place_of_one = [f"{one.text}@http://{place}/witness"]
            alone = asking.settings.model_copy(update={"log_witnesses": place_of_one})
            await auditor.ask_witnesses(replace(asking, settings=alone))
            note = (await own.http.get("/log/checkpoint")).text
            found = [find_cosignature(note, log.text_of(note), each) is not None for each in (key, ml_dsa_44)]
            assert found == [one is key, one is ml_dsa_44]
        # A witness that has cosigned more leaves than this log has is shown with that, and nothing of it is kept.
        await other.database.transaction(
            lambda tx: tx.execute("UPDATE auditor_witnessed_log SET size = size + 1000")
        )
        await own.database.transaction(lambda tx: fill(tx, 1))
        await cycle(own)
        await auditor.ask_witnesses(asking)
        error = "SELECT trouble FROM auditor_log_witness WHERE name = 'witness.example/witness'"
        said = await own.database.query(lambda tx: tx.fetchval(error))
        assert said == f"It has cosigned {size + 1000} leaves, this log has {size + 2}."
        # The checkpoint that was cosigned last stays the published one.
        note = (await own.http.get("/log/checkpoint")).text
        assert log.read_checkpoint(note, public).size == size
        assert find_cosignature(note, log.text_of(note), ml_dsa_44) is not None


async def test_who_cosigns_the_log_is_listed_from_the_settings_on(start_registry):
    point = OtherLog().key.public_key().public_bytes_raw()
    twice, silent = (
        VerifierKey(name, point, WITNESS_KEY) for name in ("other.example/w", "silent.example/w")
    )
    settings = [f"{one.text}@https://silent.example" for one in (twice, silent)]
    registry = await start_registry(log_witnesses=settings)
    answer = await registry.http.get("/log/witnesses")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.json() == {
        "witnesses": [
            {
                "name": silent.name, "key": silent.text, "ml_dsa_44_key": None, "cosigned_with": [],
                "size": None, "cosigned_at": None, "asked_at": None, "trouble": None,
            }
        ]
    }  # fmt: skip
    admin = await registry.administrator("admin_platform")
    await registry.post("/admin/auditor-signing-key/rotate", headers=admin.headers)
    present = (await registry.http.get("/.well-known/auditor-jwks.json")).json()["keys"][0]
    logged, *policy = (await registry.http.get("/log/policy")).text.splitlines()
    key, address = logged.removeprefix("log ").split(" ")
    assert read_verifier_key(key, LOG_KEY).public_key == decoded(present["x"])
    assert address.endswith("/log")
    assert policy == [
        f"witness witness-1 {silent.text} https://silent.example", "group witnesses 1 witness-1", "quorum witnesses"
    ]  # fmt: skip


async def fill(tx, count: int) -> None:
    for number in range(count):
        await record_leaf(tx, "card", f"filler/{number}", bytes(32))


async def cycle(registry) -> None:
    aged = (
        "SET LOCAL session_replication_role = replica; UPDATE auditor_verdict SET checked_at = '2026-01-01'"
    )
    await registry.database.transaction(lambda tx: tx.execute(aged))
    await auditor.run_cycle(registry.runtime)


async def rotate(registry, *, stolen: bool) -> None:
    runtime = registry.runtime
    await registry.database.transaction(
        lambda tx: auditor.rotate_witness_key(tx, runtime.settings.trust_domain, runtime.seal, stolen=stolen)
    )


async def test_a_log_that_was_cosigned_is_judged_by_the_keys_and_the_size_that_are_stored_now(witness):
    origin, former, other = "peer.example/log", OtherLog(), OtherLog(seed=2)

    async def keep(key: Ed25519PrivateKey) -> None:
        stored = VerifierKey(origin, key.public_key().public_bytes_raw(), LOG_KEY)
        kept = PeerLog("peer.example", [stored], [])
        began = await witness.database.query(clock.now)
        await witness.database.transaction(
            lambda tx, kept=kept, began=began: store.keep_peer_log(tx, kept, began)
        )

    def grown(by: OtherLog, old: int, size: int) -> str:
        return body(old, former.proof(old, size), by.note(size, origin))

    await keep(former.key)
    for old, size in ((0, 5), (5, 6)):
        assert (await submit(witness, grown(former, old, size))).status_code == 200
    assert (await submit(witness, grown(other, 6, 7))).status_code == 403
    await keep(other.key)
    assert (await submit(witness, grown(former, 6, 7))).status_code == 403
    assert (await submit(witness, grown(other, 6, 7))).status_code == 200
    # As another process would have moved it.
    root = merkle.fold((0, 9), other.nodes)
    move = "UPDATE auditor_witnessed_log SET size = 9, root = $2 WHERE origin = $1"
    await witness.database.transaction(lambda tx: tx.execute(move, origin, root))
    answer = await submit(witness, grown(other, 7, 8))
    assert (answer.status_code, answer.text) == (409, "9\n")
    assert (await submit(witness, grown(other, 9, 10))).status_code == 200


async def cosigners(registry, other: OtherLog, old: int, size: int, *keys: VerifierKey) -> list[bool]:
    """Return whether each of these keys cosigned the checkpoint of that size."""
    answer = await submit(registry, other.body(old, size))
    assert answer.status_code == 200, answer.text
    return [find_cosignature(answer.text, log.text_of(other.note(size)), key) is not None for key in keys]


async def test_after_a_rotation_both_keys_cosign_for_seven_days_and_then_the_new_one_alone(witness):
    other, first = OtherLog(), await keys_of(witness)
    await rotate(witness, stolen=False)
    second = await keys_of(witness)
    assert not {key.text for key in second} & {key.text for key in first}
    assert await cosigners(witness, other, 0, 5, *first, *second) == [True] * 4
    await witness.database.transaction(
        lambda tx: tx.execute(
            "UPDATE auditor_witness_key SET valid_from = valid_from - interval '8 days',"
            " retired_at = retired_at - interval '8 days'"
        )
    )
    assert await cosigners(witness, other, 5, 6, *first, *second) == [False, False, True, True]
    await witness.database.transaction(forget_retired_witness_keys)
    kept = await witness.database.read(
        lambda tx: tx.fetch("SELECT public_key FROM auditor_witness_key WHERE sealed_key IS NOT NULL")
    )
    assert {row["public_key"] for row in kept} == {key.public_key for key in second}


async def test_a_stolen_key_cosigns_nothing_any_more_and_its_private_half_is_gone(witness):
    other, stolen = OtherLog(), await keys_of(witness)
    assert await cosigners(witness, other, 0, 5, *stolen) == [True, True]
    await rotate(witness, stolen=True)
    new = await keys_of(witness)
    assert await cosigners(witness, other, 5, 6, *stolen, *new) == [False, False, True, True]
    halves = "SELECT count(*) FROM auditor_witness_key WHERE sealed_key IS NOT NULL"
    assert await witness.database.read(lambda tx: tx.fetchval(halves)) == 2


async def test_rotations_at_once_leave_one_current_key_of_each_kind(witness):
    await at_once(*(rotate(witness, stolen=False) for _ in range(4)))
    current = "SELECT public_key FROM auditor_witness_key WHERE retired_at IS NULL"
    keys = await witness.database.read(lambda tx: tx.fetch(current))
    assert {row["public_key"] for row in keys} == {key.public_key for key in await keys_of(witness)}
    assert len(keys) == 2


async def test_a_registry_that_has_an_ed25519_key_alone_begins_the_other_at_its_next_start(witness):
    former, _ = await keys_of(witness)
    await witness.database.transaction(
        lambda tx: tx.execute("DELETE FROM auditor_witness_key WHERE octet_length(public_key) > 32")
    )
    seal = witness.runtime.seal
    await witness.database.transaction(lambda tx: auditor.initialize_auditor(tx, "hansa.local", seal))
    key, ml_dsa_44 = await keys_of(witness)
    assert key == former
    assert await cosigners(witness, OtherLog(), 0, 5, key, ml_dsa_44) == [True, True]


async def test_the_two_keys_of_a_witness_are_one_witness_in_the_policy(start_registry, witness):
    keys = await keys_of(witness)
    registry = await start_registry(log_witnesses=[f"{key.text}@https://w.example" for key in reversed(keys)])
    policy = (await registry.http.get("/log/policy")).text.splitlines()
    assert policy[-5:] == [
        f"witness witness-1 {keys[0].text} https://w.example",
        f"witness witness-1-ml-dsa-44 {keys[1].text} https://w.example",
        "group either-1 any witness-1 witness-1-ml-dsa-44",
        "group witnesses 1 either-1",
        "quorum witnesses",
    ]


class _Answers:
    """A witness that answers each request with these signature lines."""

    def __init__(self, lines: str) -> None:
        self.lines = lines

    async def post(self, *_: object, **__: object) -> Answer:
        return Answer(200, {}, self.lines.encode())


async def test_a_cosignature_of_a_later_time_or_without_a_time_is_not_kept(start_registry):
    own = await start_registry()
    await auditor.run_cycle(own.runtime)
    text = log.text_of((await own.http.get("/log/checkpoint")).text)
    now = int(datetime.now(UTC).timestamp())
    private = {
        WITNESS_KEY: Ed25519PrivateKey.generate(),
        ML_DSA_WITNESS_KEY: MLDSA44PrivateKey.generate(),
    }
    for kind, key in private.items():
        witness = VerifierKey("late.example/w", key.public_key().public_bytes_raw(), kind)
        for time, kept in ((2**64 - 1, 0), (2**62, 0), (now + 3600, 0), (0, 0), (now, 1)):
            signature = key.sign(cosigned_message(text, time, witness))
            asking = replace(
                own.runtime,
                settings=own.settings.model_copy(
                    update={"log_witnesses": [f"{witness.text}@https://w.example"]}
                ),
                outgoing=_Answers(cosignature_line(witness, time, signature) + "\n"),
            )
            await own.database.transaction(lambda tx: tx.execute("DELETE FROM auditor_log_witness"))
            await auditor.ask_witnesses(asking)
            rows = await own.database.query(
                lambda tx: tx.fetch("SELECT lines, trouble FROM auditor_log_witness")
            )
            assert [len(row["lines"]) for row in rows] == [kept], (kind, time)
            assert (rows[0]["trouble"] is None) == bool(kept)


async def test_of_many_peers_twelve_are_witnesses_so_that_a_checkpoint_stays_readable(
    start_registry, tmp_path
):
    own, authority = await start_registry(), IdentityAuthority(Keyring(tmp_path), FRAME)
    await auditor.run_cycle(own.runtime)
    for number in range(PEERS_ASKED_MAX + 2):
        ledger_id = f"{FRAME}/registry/p{number}"
        await add_peer(own, authority, card_of_peer(f"p{number}", ledger_id))
        raw = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
        kept = PeerLog(ledger_id, [], [verifier_key(ledger_id, raw)])
        began = await own.database.query(clock.now)
        await own.database.transaction(
            lambda tx, kept=kept, began=began: store.keep_peer_log(tx, kept, began)
        )
    await auditor.ask_witnesses(own.runtime)
    asked = (await own.http.get("/log/witnesses")).json()["witnesses"]
    names = {f"{FRAME}/registry/p{number}/witness" for number in range(PEERS_ASKED_MAX)}
    assert {one["name"] for one in asked} == names
    # Nobody answers at these addresses: each has its own reason, all of them are kept.
    assert all(one["trouble"] and one["asked_at"] for one in asked)


async def test_the_checkpoint_is_served_with_its_cosignatures_until_the_next_one_is_cosigned(start_registry):
    own = await start_registry()
    await cycle(own)
    key_set = (await own.http.get("/.well-known/auditor-jwks.json")).json()
    public = [key.public_key for key in read_auditor_keys(key_set)]
    trusted = VerifierKey("hansa.local/log", public[0], LOG_KEY).text
    async with served(start_registry, trust_domain="witness.example", witnessed_logs=[trusted]) as other:
        place = f"127.0.0.1:{other.settings.port}"
        key, _ = await keys_of(other)
        named = [f"{key.text}@http://{place}/witness"]
        asking = replace(
            own.runtime,
            settings=own.settings.model_copy(update={"log_witnesses": named}),
            outgoing=Outgoing([place]),
        )

        async def served_size() -> tuple[int, bool]:
            note = (await own.http.get("/log/checkpoint")).text
            is_cosigned = find_cosignature(note, log.text_of(note), key) is not None
            return log.read_checkpoint(note, public).size, is_cosigned

        await auditor.ask_witnesses(asking)
        size, is_cosigned = await served_size()
        assert is_cosigned
        await own.database.transaction(lambda tx: fill(tx, 1))
        await cycle(own)
        assert await served_size() == (size, True)
        within, beyond = [
            (await own.http.get("/log/proof", params={"index": index})).json() for index in (0, size)
        ]
        assert (within["size"], beyond["size"] > size) == (size, True)
        for proof in (within, beyond):
            assert log.read_checkpoint(proof["checkpoint"], public).size == proof["size"]
        growth = (await own.http.get("/log/consistency", params={"old_size": beyond["size"]})).json()
        assert growth["size"] == beyond["size"]
        await auditor.ask_witnesses(asking)
        assert await served_size() == (beyond["size"], True)
        # A log whose witnesses are silent for ten minutes goes on without them.
        await own.database.transaction(lambda tx: fill(tx, 1))
        await cycle(own)
        await own.database.transaction(
            lambda tx: tx.execute(
                "UPDATE auditor_log_checkpoint SET signed_at = signed_at - interval '11 minutes'"
                " WHERE cosignatures IS NOT NULL"
            )
        )
        newest, is_cosigned = await served_size()
        assert (newest > beyond["size"], is_cosigned) == (True, False)


async def test_a_checkpoint_is_published_once_a_majority_has_cosigned_it_or_as_many_as_the_one_before(
    registry,
):
    witnesses = [f"{name}.example/w" for name in "abc"]

    async def cosign(size: int, *names: str) -> int:
        """The published size after these witnesses cosigned that one."""

        async def work(tx: Tx) -> int:
            await tx.execute(
                "INSERT INTO auditor_log_checkpoint (size, note) VALUES ($1, 'note') ON CONFLICT DO NOTHING",
                size,
            )
            for name in names:
                await tx.execute(
                    "INSERT INTO auditor_log_witness (name, known_size, size, lines, cosigned_at, asked_at)"
                    " VALUES ($1, $2, $2, ARRAY['\u2014 ' || $1 || ' AAAA'], now(), now())"
                    " ON CONFLICT (name) DO UPDATE SET known_size = $2, size = $2",
                    f"{name}.example/w",
                    size,
                )
            await publish_cosigned(tx, witnesses, 2)
            return (
                await tx.fetchval(
                    "SELECT max(size) FROM auditor_log_checkpoint WHERE cosignatures IS NOT NULL"
                )
                or 0
            )

        return await registry.database.transaction(work)

    assert await cosign(1_000_001, "a", "b") == 1_000_001
    assert await cosign(1_000_002, "a") == 1_000_001
    assert await cosign(1_000_002, "b") == 1_000_002
    assert await cosign(1_000_003, "stranger") == 1_000_002
