"""Licence certificates, their lists, attestations and checkpoints of the tiled log, each with one member changed and signed anew by the rightful key.

The signature is right and the content is not. `free` has expressions for `<kind of change> <place>`: the changes that may pass, each
with a reason beside it.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.doors.verification.log import judge_consistency, judge_inclusion
from hansa.foundation.values import merkle
from hansa.rooms.auditor.transparency import notes
from hansa_verify import (
    BadLicence,
    encoded,
    licence_hash,
    read_auditor_keys,
    read_export,
    read_issued_list,
    read_json,
    read_keys,
    verify_achievement,
    verify_attestations,
    verify_licence,
)
from hansa_verify.licence import FRAME_PLANS, GENESIS_PLAN
from tests.licences import TestGenesis, TestIssuer
from tests.verifier.achievements import AT as AT_OF_STATEMENTS
from tests.verifier.achievements import KEYS as KEYS_OF_STATEMENTS
from tests.verifier.achievements import STATEMENT, signed_statement
from tests.verifier.members import changes_of

Vector = dict[str, Any]
ISSUED_AT, LISTED_AT, AT = 1_800_000_000, 1_800_000_060, "2027-01-16T08:00:00+00:00"
ORDER = r"order .*"
"""The members of an object have no order."""


@dataclass(frozen=True)
class Resigned:
    """A JSON text that is signed, the documents a reader is given with it, and their judgement.

    `others` are further texts, each with a name: a member has a value that is right elsewhere.
    """

    text: str
    documents: Callable[[str], Vector]
    evaluate: Callable[[Vector], str]
    free: tuple[str, ...]
    others: tuple[tuple[str, str], ...] = ()

    def vectors(self) -> Iterator[tuple[str, Vector]]:
        """Each change with the documents that hold it; the first one is without a change."""
        yield "", self.documents(self.text)
        for change in changes_of(self.text):
            yield f"{change.kind} {change.place}", self.documents(change.text)
        for what, text in self.others:
            yield what, self.documents(text)


def judge_licence(vector: Vector) -> str:
    """The code of the verdict on a certificate with its chain and lists."""
    return verify_licence(
        vector["certificate"],
        vector["chain"],
        root_hash=vector["root"],
        lists=vector["lists"],
        at=datetime.fromisoformat(vector["at"]),
    ).code


def judge_log(vector: Vector) -> str:
    """The code of the verdict on a proof of inclusion, or with an older checkpoint on a proof of consistency."""
    keys = read_auditor_keys(read_json(vector["keys"]))
    proof, old = json.loads(vector["proof"]), vector["old"]
    return (judge_inclusion(proof, keys) if old is None else judge_consistency(proof, keys, old)).code


GENESIS = TestGenesis("genesis.example", seed=b"\x05" * 32)
_FRAME_KEY = TestIssuer("frame.example", seed=b"\x06" * 32)
FRAME_PAYLOAD = GENESIS.payload("frame", "frame.example", key=_FRAME_KEY.jwk, iat=ISSUED_AT)
FRAME_TEXT = GENESIS.sign(FRAME_PAYLOAD)
FRAME = TestIssuer("frame.example", certificate=FRAME_TEXT, seed=b"\x06" * 32)
GENESIS_PAYLOAD = GENESIS.payload("genesis", "genesis.example", key=GENESIS.jwk, iat=ISSUED_AT)
GENESIS_TEXT = GENESIS.sign(GENESIS_PAYLOAD)
OPERATOR_PAYLOAD = FRAME.payload(
    "operator", "frame.example", network="genesis.example", iat=ISSUED_AT
) | {"sub": {"trust_domain": "frame.example", "name": "north", "url": "https://north.example", "spiffe": "spiffe://frame.example/north"}}  # fmt: skip


def written(members: Any) -> str:
    """JSON without blanks."""
    return json.dumps(members, separators=(",", ":"))


def header_of(issuer: TestIssuer, typ: str = "licence+jws") -> str:
    """Return the protected header of a document that an issuer signs."""
    return written({"alg": "EdDSA", "kid": issuer.kid, "typ": typ})


def listed_by(issuer: TestIssuer, *texts: str) -> str:
    """The list of an issuer with each of the certificates that has the form of one."""
    readable = [text for text in texts if _is_certificate(text)]
    return issuer.issued_list(*readable, generated_at=LISTED_AT)


def _is_certificate(text: str) -> bool:
    try:
        GENESIS.issued_list(text)
    except BadLicence:
        return False
    return True


def of_genesis(text: str) -> Vector:
    """A genesis certificate that the reader trusts by its hash."""
    lists = [listed_by(GENESIS, text)]
    return {"certificate": text, "chain": [], "lists": lists, "root": licence_hash(text), "at": AT}


def of_frame(text: str, issued: str | None = None) -> Vector:
    """A certificate of a frame, below the genesis."""
    lists = [issued or listed_by(GENESIS, GENESIS_TEXT, text)]
    root = licence_hash(GENESIS_TEXT)
    return {"certificate": text, "chain": [GENESIS_TEXT], "lists": lists, "root": root, "at": AT}


def of_operator(text: str) -> Vector:
    """A certificate of an operator, below its frame and the genesis."""
    vector = of_frame(FRAME_TEXT)
    lists = [*vector["lists"], listed_by(FRAME, text)]
    return {**vector, "certificate": text, "chain": [FRAME_TEXT, GENESIS_TEXT], "lists": lists}


def certificate(issuer: TestIssuer, payload: Any, documents: Callable[[str], Vector], *free: str) -> Resigned:
    """The payload of a certificate, also with each plan and type of the other kinds."""
    header = header_of(issuer)
    plans = {"genesis": (GENESIS_PLAN,), "frame": FRAME_PLANS, "operator": ("operator-free",)}
    kind = payload["type"]
    wrong = [("type", other) for other in plans if other != kind]
    wrong += [("plan", plan) for other in plans if other != kind for plan in plans[other]]
    return Resigned(
        written(payload),
        lambda text: documents(issuer.sign_texts(header, text)),
        judge_licence,
        (ORDER, *free),
        tuple((f"{name} {value}", written(payload | {name: value})) for name, value in wrong),
    )


def header(issuer: TestIssuer, payload: Any, documents: Callable[[str], Vector]) -> Resigned:
    """The protected header of a certificate; nothing in it may change but the order."""
    return Resigned(
        header_of(issuer),
        lambda text: documents(issuer.sign_texts(text, written(payload))),
        judge_licence,
        (ORDER,),
    )


def frames_list() -> Resigned:
    """The list of the genesis that states the certificate of a frame."""
    text = listed_by(GENESIS, GENESIS_TEXT, FRAME_TEXT)
    typ = "licence-list+jws"
    payload = read_issued_list(text).signature.payload
    return Resigned(
        written(payload),
        lambda changed: of_frame(FRAME_TEXT, GENESIS.sign_texts(header_of(GENESIS, typ), changed)),
        judge_licence,
        (
            ORDER,
            # The order of the entries, and an entry that is there twice, contradict nothing.
            r"reverse licences|add licences\.2|twice licences\.[01]",
            # A display name, the time of the list and the time of a change are the issuer's to state.
            r"(value|type) issuer\.name|value generated_at|value licences\.\d\.updated_at",
        ),
    )


KEY = Ed25519PrivateKey.from_private_bytes(b"\x01" * 32)
POINT = KEY.public_key().public_bytes_raw()
AUDITOR = {"kty": "OKP", "crv": "Ed25519", "x": encoded(POINT), "kid": sha256(POINT).hexdigest()[:16]}
AUDITED_AT = "2026-01-31T12:00:00.000000+00:00"


def record(**members: Any) -> dict[str, Any]:
    return {
        "standard": "SA-1.0",
        "kind": "audit",
        "auditor_version": "0.1.0",
        "frame": "hansa.example",
        "ts": AUDITED_AT,
        "prev_hash": "0" * 64,
        **members,
    }


AUDIT = record(
    currency="AVT",
    audit_row_id=1,
    as_of_event_seq=10,
    terms={"issued": 100, "destroyed": 2, "transit_net": 3, "net_supply": 101, "circulating": 101},
    delta=0,
    status="OK",
    live_status="OK",
    maintenance=False,
    native={"ok": True, "basis": "typed_mints_complete", "gap": 0, "gap_rebased": 0},
    checks={
        "supply": "OK",
        "per_user": "OK",
        "staked_guard": "OK",
        "escrow": "OK",
        "transactions": "OK",
        "solvency": "SOLVENT",
    },
)
ENTRY = {"baseline": 5, "set_at": AUDITED_AT, "ref": "why"}
RAIL = "admin/set-native-baseline"
SET = record(kind="baseline_set", entry=ENTRY, ref="why", rail=RAIL)
REMOVED = record(kind="baseline_removed", entry=None, ref="why", rail=RAIL)
REBASED = record(
    kind="transit_rebaselined",
    old_baseline=0,
    old_drift=5,
    new_baseline=5,
    ref="why",
    rail="admin/rebaseline-transit",
)


def exported(text: str) -> Vector:
    """The only record of a chain, whose envelope repeats the payload, signed by the auditor."""
    payload = json.loads(text)
    said = payload if isinstance(payload, dict) else {}
    envelope = {name: said.get(name) for name in ("frame", "ts", "kind", "prev_hash")}
    signed = {"payload": text, "digest": sha256(text.encode()).hexdigest(), "kid": AUDITOR["kid"]}
    one = {"id": 1, **envelope, **signed, "signature": encoded(KEY.sign(text.encode()))}
    chain = {"standard": "SA-1.0", "keys": [AUDITOR], "attestations": [one]}
    return {"export": written(chain), "at": AUDITED_AT, "exact": True}


def judge_chain(vector: Vector) -> str:
    """The code of the verdict on an exported chain."""
    records, key_set = read_export(vector["export"])
    keys = read_auditor_keys(key_set)
    return verify_attestations(records, keys, exact=True, at=datetime.fromisoformat(vector["at"])).code


FURTHER = r"add (.*\.)?zz"
"""A later version of the standard adds members."""
ENVELOPE = r"(drop|type|value) auditor_version|value frame"
"""Author, frame and program are for the reader to compare."""


def attestation(payload: dict[str, Any], *free: str) -> Resigned:
    """The payload of an attestation."""
    return Resigned(written(payload), exported, judge_chain, (ORDER, FURTHER, ENVELOPE, *free))


def audit() -> Resigned:
    """An audit with every member."""
    return attestation(
        AUDIT,
        # Informative, or of the database of the auditor.
        r"(drop|type|value) (currency|audit_row_id|live_status|maintenance)",
        # Null members are skipped; a check that was not made is absent.
        r"drop (as_of_event_seq|native\.(gap|gap_rebased)|checks\.\w+)|value as_of_event_seq|drop (status|delta|terms)",
        # Beside a gap that was rebased the plain one is informative.
        r"(type|value) native\.gap",
    )


ORIGIN = "hansa.example/log"
LEAVES = [merkle.leaf_hash(str(number).encode()) for number in range(5)]
NODES = merkle.appended(0, {}, LEAVES)


def text_of_size(size: int) -> str:
    """The text of the checkpoint of the first leaves."""
    return notes.checkpoint_text(ORIGIN, size, merkle.fold((0, size), NODES))


def signed(text: str) -> str:
    """The note over a text, signed by the log under the name in its first line."""
    return notes.signed_note(text, text.partition("\n")[0], [KEY])


def hashes_of(ranges: Any) -> list[str]:
    """A path of a proof as it is served."""
    return [b64encode(merkle.fold(leaves, NODES)).decode() for leaves in ranges]


def key_set() -> str:
    """The keys of the auditor."""
    return written({"keys": [AUDITOR]})


def included(text: str) -> Vector:
    """A proof of a leaf under the note over a text."""
    path = hashes_of(merkle.inclusion_path(1, len(LEAVES)))
    proof = {"checkpoint": signed(text), "entry": "1", "index": 1, "size": len(LEAVES), "hashes": path}
    return {"proof": written(proof), "keys": key_set(), "old": None}


def continued(old_size: int, *, is_older: bool) -> Callable[[str], Vector]:
    """A proof that a log continues an older one; the changed text is that of the older or of the newer checkpoint."""

    def documents(text: str) -> Vector:
        newer, older = text_of_size(len(LEAVES)), text_of_size(old_size)
        newer, older = (newer, text) if is_older else (text, older)
        path = hashes_of(merkle.consistency_path(old_size, len(LEAVES)))
        proof = {"checkpoint": signed(newer), "old_size": old_size, "size": len(LEAVES), "hashes": path}
        return {"proof": written(proof), "keys": key_set(), "old": signed(older)}

    return documents


def checkpoint(size: int, documents: Callable[[str], Vector], *free: str) -> Resigned:
    """The text of a checkpoint: origin, size, root and the empty line behind them."""
    return Resigned(json.dumps(text_of_size(size)), lambda text: documents(json.loads(text)), judge_log, free)


EXTENSIONS = r"twice <0>\.2"
"""Lines behind the root are extensions of the format, which a reader skips."""


def achievement() -> Resigned:
    """The statement of an achievement; its members are the registry's to state, but its kind and their types."""
    return Resigned(
        written(STATEMENT),
        lambda changed: {
            "statement": signed_statement(changed),
            "keys": json.dumps(KEYS_OF_STATEMENTS),
            "at": AT_OF_STATEMENTS,
        },
        lambda vector: (
            verify_achievement(
                vector["statement"],
                read_keys(KEYS_OF_STATEMENTS),
                at=datetime.fromisoformat(AT_OF_STATEMENTS),
            ).code
        ),
        (ORDER, r"value (registry|did|code|event_seq|dashed)"),
    )


RESIGNED: dict[str, Callable[[], Resigned]] = {
    # Identifiers, names, terms and times are the issuer's to choose. The trust domain is one in two members, of which one alone changed
    # is refused; `iss.licence` is null.
    "genesis": lambda: certificate(GENESIS, GENESIS_PAYLOAD, of_genesis, r"value (lid|terms|iat|sub\.name|iss\.name)"),
    "genesis_header": lambda: header(GENESIS, GENESIS_PAYLOAD, of_genesis),
    # The genesis chooses whom it licenses and for which key; `iss.licence` is a hint.
    "frame": lambda: certificate(GENESIS, FRAME_PAYLOAD, of_frame, r"value (lid|terms|iat|key\.x|sub\.(name|trust_domain)|iss\.(name|licence))"),
    "frame_header": lambda: header(GENESIS, FRAME_PAYLOAD, of_frame),
    # The frame chooses its plans; an address and a SPIFFE id are optional and the issuer's to state.
    "operator": lambda: certificate(FRAME, OPERATOR_PAYLOAD, of_operator, r"value (lid|terms|iat|plan|sub\.(name|url|spiffe)|iss\.(name|licence))", r"drop sub\.(url|spiffe)"),
    "operator_header": lambda: header(FRAME, OPERATOR_PAYLOAD, of_operator),
    "achievement": achievement,
    "list": frames_list,
    "audit": audit,
    # A higher baseline, or another moment and reason, are what the administrator states.
    "baseline_set": lambda: attestation(SET, r"value (ref|entry\.ref|entry\.baseline)"),
    "baseline_removed": lambda: attestation(REMOVED, r"value ref"),
    "transit_rebaselined": lambda: attestation(REBASED, r"value (ref|old_baseline|old_drift|new_baseline)"),
    # A key set names no log: which log a checkpoint is of is for the reader to compare.
    "checkpoint": lambda: checkpoint(5, included, EXTENSIONS, r"(value|type) <0>\.0"),
    # Two checkpoints are of one log only where both name it.
    "newer_checkpoint": lambda: checkpoint(5, continued(3, is_older=False), EXTENSIONS),
    "older_checkpoint": lambda: checkpoint(3, continued(3, is_older=True), EXTENSIONS),
    "empty_checkpoint": lambda: checkpoint(0, continued(0, is_older=True), EXTENSIONS),
}  # fmt: skip
