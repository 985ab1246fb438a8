"""Cosignatures of witnesses (C2SP tlog-cosignature), Ed25519 and ML-DSA-44: accepted ones, and thousands of refused changes."""

import json
import random
from base64 import b64decode, b64encode
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey

from hansa.doors.verification.log import verify_log
from hansa.foundation.values import merkle
from hansa.rooms.auditor.transparency import notes
from hansa_verify import (
    LOG_KEY,
    ML_DSA_WITNESS_KEY,
    WITNESS_KEY,
    NotAKey,
    VerifierKey,
    encoded,
    find_cosignature,
    has_ml_dsa,
    keys,
    log,
    read_verifier_key,
)
from hansa_verify.log import cosignature_line, cosigned_message
from tests.properties.scale import by_tier, printed_seed

NAME, ORIGIN, TIME = "witness.example/w", "log.example/1", 1_785_000_000
LOG = Ed25519PrivateKey.from_private_bytes(bytes([1]) * 32)
ENTRY = "card/1 " + "0" * 64
ROOT = merkle.leaf_hash(ENTRY.encode())
TEXT = notes.checkpoint_text(ORIGIN, 1, ROOT)
PRIVATE = {
    WITNESS_KEY: Ed25519PrivateKey.from_private_bytes(bytes([2]) * 32),
    ML_DSA_WITNESS_KEY: MLDSA44PrivateKey.from_seed_bytes(bytes([2]) * 32),
}
WITNESSES = {
    kind: VerifierKey(NAME, key.public_key().public_bytes_raw(), kind) for kind, key in PRIVATE.items()
}


def cosigned(kind: bytes, text: str = TEXT, time: int = TIME) -> str:
    witness = WITNESSES[kind]
    return cosignature_line(witness, time, PRIVATE[kind].sign(cosigned_message(text, time, witness)))


def test_the_message_and_the_key_id_are_those_of_the_specification():
    assert (
        cosigned_message(TEXT, TIME, WITNESSES[WITNESS_KEY])
        == f"cosignature/v1\ntime {TIME}\n{TEXT}".encode()
    )
    stated = (
        "737562747265652f76310a00"  # The label of 12 bytes.
        "11"
        + NAME.encode().hex()
        + f"{TIME:016x}"
        + "0d"
        + ORIGIN.encode().hex()
        + f"{0:016x}{1:016x}"
        + ROOT.hex()
    )
    extended = f"{TEXT}an extension line\n"
    for text in (TEXT, extended):
        assert cosigned_message(text, TIME, WITNESSES[ML_DSA_WITNESS_KEY]).hex() == stated
    for kind, byte, size in ((WITNESS_KEY, 4, 32), (ML_DSA_WITNESS_KEY, 6, 1312)):
        name, key_id, key = WITNESSES[kind].text.split("+", 2)
        raw = b64decode(key)
        assert (name, raw[0], len(raw)) == (NAME, byte, 1 + size)
        assert key_id == sha256(f"{NAME}\n".encode() + raw).hexdigest()[:8]
        assert len(b64decode(cosigned(kind).rpartition(" ")[2])) == 4 + 8 + {4: 64, 6: 2420}[byte]


@pytest.mark.parametrize("kind", PRIVATE)
def test_a_cosignature_is_found_by_its_key_over_its_text_alone(kind):
    note = (
        f"{notes.signed_note(TEXT, ORIGIN, [LOG])}{cosigned(WITNESS_KEY)}\n{cosigned(ML_DSA_WITNESS_KEY)}\n"
    )
    assert log.read_checkpoint(note, [LOG.public_key().public_bytes_raw()]).size == 1
    assert find_cosignature(note, TEXT, WITNESSES[kind]) == (
        TIME,
        cosigned(kind) if kind == WITNESS_KEY else note.splitlines()[-1],
    )
    assert find_cosignature(note, notes.checkpoint_text(ORIGIN, 2, ROOT), WITNESSES[kind]) is None
    assert find_cosignature(note, notes.checkpoint_text("log.example/2", 1, ROOT), WITNESSES[kind]) is None
    other = VerifierKey("other.example/w", WITNESSES[kind].public_key, kind)
    assert find_cosignature(note, TEXT, other) is None
    assert find_cosignature(note.replace(NAME, other.name), TEXT, other) is None


def test_a_key_signs_under_its_own_type_alone():
    for kind, other in ((WITNESS_KEY, ML_DSA_WITNESS_KEY), (ML_DSA_WITNESS_KEY, WITNESS_KEY)):
        raw = PRIVATE[kind].sign(cosigned_message(TEXT, TIME, WITNESSES[other]))
        for named in (kind, other):
            line = cosignature_line(WITNESSES[named], TIME, raw)
            assert all(find_cosignature(line, TEXT, witness) is None for witness in WITNESSES.values())


def test_a_time_of_zero_or_beyond_63_bits_is_no_time():
    for kind in PRIVATE:
        for time, holds in ((0, False), (1, True), (2**63 - 1, True), (2**63, False), (2**64 - 1, False)):
            found = find_cosignature(cosigned(kind, time=time), TEXT, WITNESSES[kind])
            assert (found is not None) == holds, (kind, time)


@pytest.mark.parametrize("kind", PRIVATE)
def test_no_changed_cosignature_is_accepted(kind):
    rng = random.Random(printed_seed())
    name, _, signature = cosigned(kind).rpartition(" ")
    raw = b64decode(signature)
    for _ in range(by_tier(300, 5_000, 50_000)):
        place = rng.randrange(4, len(raw))
        changed = bytearray(raw)
        changed[place] ^= rng.randrange(1, 256)
        for one in (bytes(changed), raw[:place], raw + rng.randbytes(1)):
            assert find_cosignature(f"{name} {b64encode(one).decode()}", TEXT, WITNESSES[kind]) is None


def test_a_verifier_key_of_another_type_length_or_id_is_refused():
    both = (WITNESS_KEY, ML_DSA_WITNESS_KEY)
    text = WITNESSES[ML_DSA_WITNESS_KEY].text
    assert read_verifier_key(text, *both) == WITNESSES[ML_DSA_WITNESS_KEY]
    name, key_id, key = text.split("+", 2)
    raw = b64decode(key)
    wrong_id = f"{name}+{int(key_id, 16) ^ 1:08x}+{key}"
    refused = [
        (text, (WITNESS_KEY,)), (WITNESSES[WITNESS_KEY].text, (ML_DSA_WITNESS_KEY,)), (text, (LOG_KEY,)), (wrong_id, both),
        (VerifierKey(NAME, raw[1:-1], ML_DSA_WITNESS_KEY).text, both), (VerifierKey(NAME, raw[1:], WITNESS_KEY).text, both),
        (VerifierKey(NAME, WITNESSES[WITNESS_KEY].public_key, ML_DSA_WITNESS_KEY).text, both),
        (VerifierKey(NAME, raw[1:], b"\x07").text, both), (VerifierKey("é" * 128, raw[1:], ML_DSA_WITNESS_KEY).text, both),
    ]  # fmt: skip
    for stated, kinds in refused:
        with pytest.raises(NotAKey):
            read_verifier_key(stated, *kinds)


def proof_in(tmp_path, lines: str) -> list[str]:
    """The paths of a proof whose checkpoint has these cosignatures, and of the keys of its log."""
    checkpoint = notes.signed_note(TEXT, ORIGIN, [LOG]) + lines
    proof = {"checkpoint": checkpoint, "entry": ENTRY, "index": 0, "size": 1, "hashes": []}
    key = {"kid": "1", "kty": "OKP", "crv": "Ed25519", "x": encoded(LOG.public_key().public_bytes_raw())}
    for name, document in (("proof", proof), ("keys", {"keys": [key]})):
        (tmp_path / name).write_text(json.dumps(document))
    return [str(tmp_path / "proof"), str(tmp_path / "keys")]


def test_the_command_judges_the_witnesses_that_it_is_given_and_names_what_it_did_not_judge(tmp_path):
    proof, key_set = proof_in(tmp_path, "".join(f"{cosigned(kind)}\n" for kind in PRIVATE))
    assert "2 other signatures not judged" in verify_log(proof, key_set, None).steps[0].said
    both = [witness.text for witness in WITNESSES.values()]
    verdict = verify_log(proof, key_set, None, both)
    assert verdict.is_valid
    assert [step.name for step in verdict.steps] == ["checkpoint", "witness", "witness", "inclusion"]
    proof, key_set = proof_in(tmp_path, f"{cosigned(WITNESS_KEY)}\n")
    assert verify_log(proof, key_set, None, both[:1]).is_valid
    verdict = verify_log(proof, key_set, None, both)
    assert (verdict.code, verdict.steps[2].said) == ("witness", f"{NAME} (ML-DSA-44) did not cosign")


def test_without_ml_dsa_in_the_library_the_others_are_judged_and_that_one_is_named(tmp_path, monkeypatch):
    proof, key_set = proof_in(tmp_path, "".join(f"{cosigned(kind)}\n" for kind in PRIVATE))
    monkeypatch.setattr(keys, "mldsa", None)
    assert not has_ml_dsa()
    assert verify_log(proof, key_set, None, [WITNESSES[WITNESS_KEY].text]).is_valid
    verdict = verify_log(proof, key_set, None, [witness.text for witness in WITNESSES.values()])
    assert [step.holds for step in verdict.steps] == [True, True, False, True]
    assert "was not checked" in verdict.steps[2].said
