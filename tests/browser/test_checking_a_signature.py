"""The browser's own check of a signed card: its canonical form is that of the registry, and it takes nothing else for good."""

import json
import math
import random
import struct
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from playwright.async_api import Page

from hansa_verify import read_keys, verify_card
from hansa_verify.canonical import NotCanonical, canonical_json, read_json
from tests.properties.scale import by_tier, printed_seed

DOCUMENTS = by_tier(800, 30_000, 200_000)
MUTATIONS = by_tier(400, 30_000, 200_000)
CHARACTERS = 'aZ0"\\/\b\f\n\r\t\x00\x1f\x7f\x80éß\u2028\u2029\ufeff\uffff\ue000中𝄞😀\U0010ffff'
NUMBERS = [
    "0",
    "-0",
    "1",
    "-1",
    "10",
    "1.0",
    "-0.0",
    "0.0",
    "0.1",
    "0.10",
    "1e0",
    "1E5",
    "1e+5",
    "1e-5",
    "1e-4",
    "0.00001",
    "0.0001",
    "1e15",
    "1e16",
    "1e17",
    "123456789012345680.0",
    "9007199254740993",
    "12345678901234567890123456789012345678",
    "1e22",
    "1e21",
    "1.7976931348623157e308",
    "5e-324",
    "2.2250738585072014e-308",
    "1e308",
    "0.30000000000000004",
    "100.0",
    "1000000000000000.0",
    "9999999999999998.0",
    "1.5e300",
    "0e5",
    "0.000",
    "-1.5E-7",
    "0e-9999",
]
REFUSED = [
    *(
        "",
        " ",
        "{",
        "[",
        "[1,]",
        "{,}",
        '{"a"}',
        '{"a":1,}',
        "[1 2]",
        "01",
        "1.",
        ".5",
        "+1",
        "-",
        "1e",
        "NaN",
        "Infinity",
    ),
    *(
        "tru",
        "nul",
        "'a'",
        '"a',
        '"\n"',
        '"\\x"',
        '"\\u12"',
        "[1]x",
        "\ufeff1",
        "\xa01",
        "1e999",
        "-1e400",
        "9" * 1001,
    ),
    *(
        '{"a":1,"a":1}',
        '{"a":1,"\\u0061":2}',
        '"\\ud800"',
        '"\\udc00\\ud800"',
        '{"\\ud800":1}',
        "[" * 65 + "]" * 65,
    ),
    *("0.1000000000000000055", "9007199254740993.0", "1e-400", "123456789.123456789123"),
]
FORMS = """async texts => {
  const { canonical, read, Unreadable } = await import("/static/canonical.js");
  return texts.map(text => {
    try { return canonical(read(text)); }
    catch (trouble) { if (trouble instanceof Unreadable) return null; throw trouble; }
  });
}"""


def drawn(draw: random.Random, depth: int = 0) -> Any:
    """A JSON value with everything that is awkward in it."""
    made = draw.choice([_object, _array, text_of, _word, _whole, _short, _double] if depth < 4 else LEAVES)
    return made(draw, depth) if made in {_object, _array} else made(draw)


def _object(draw: random.Random, depth: int) -> Any:
    return {text_of(draw): drawn(draw, depth + 1) for _ in range(draw.randrange(5))}


def _array(draw: random.Random, depth: int) -> Any:
    return [drawn(draw, depth + 1) for _ in range(draw.randrange(4))]


def _word(draw: random.Random) -> Any:
    return draw.choice([True, False, None])


def _whole(draw: random.Random) -> Any:
    return draw.randrange(-(10 ** draw.randrange(1, 40)), 10 ** draw.randrange(1, 40))


def _short(draw: random.Random) -> Any:
    return round(draw.uniform(-1000, 1000), draw.randrange(1, 9))


def _double(draw: random.Random) -> Any:
    (number,) = struct.unpack("d", draw.randbytes(8))
    return number if math.isfinite(number) else 0.5


def text_of(draw: random.Random) -> str:
    return "".join(draw.choice(CHARACTERS) for _ in range(draw.randrange(6)))


LEAVES = [text_of, _word, _whole, _short, _double]


async def test_the_canonical_form_of_the_browser_is_that_of_the_registry(script_page: Page):
    draw = random.Random(printed_seed())
    values = [drawn(draw) for _ in range(DOCUMENTS)]
    texts = [
        *(
            json.dumps(value, ensure_ascii=draw.random() < 0.5, indent=draw.choice([None, 1]))
            for value in values
        ),
        *NUMBERS,
        "[" * 64 + "]" * 64,
        "9" * 1000,
    ]
    expected = [canonical_json(read_json(text)).decode() for text in texts]
    found = await script_page.evaluate(FORMS, texts)
    assert [
        (text, one) for text, one, other in zip(texts, found, expected, strict=True) if one != other
    ] == []


async def test_what_the_verifier_refuses_to_read_the_browser_refuses_too(script_page: Page):
    for text in REFUSED:
        with pytest.raises(NotCanonical):
            read_json(text)
    found = await script_page.evaluate(FORMS, REFUSED)
    assert [text for text, one in zip(REFUSED, found, strict=True) if one is not None] == []


VERDICTS = """async ([cards, keys]) => {
  const { verified, NotVerified } = await import("/static/verify.js");
  const verdicts = [];
  for (const card of cards) {
    try { await verified(card, keys); verdicts.push(true); }
    catch (trouble) { if (!(trouble instanceof NotVerified)) throw trouble; verdicts.push(trouble.message); }
  }
  return verdicts;
}"""
KID = "spiffe://hansa.local/registry/hansa#1"
CARD = {
    "name": "Übersetzer 😀",
    "pricing": {"base_rate": 0.4, "model": "per_request"},
    "limits": [1e16, 10**30, -0.0],
}


class Signer:
    """Signs as a registry does, or a little otherwise."""

    def __init__(self) -> None:
        self.key = Ed25519PrivateKey.generate()

    def keys(self, **more: Any) -> str:
        point = self.key.public_key().public_bytes_raw()
        key = {
            "kty": "OKP",
            "crv": "Ed25519",
            "x": base64url(point),
            "kid": KID,
            "use": "sig",
            "alg": "EdDSA",
            **more,
        }
        return json.dumps({"keys": [key]})

    def entry(self, card: dict[str, Any], **header: Any) -> dict[str, str]:
        head = {
            "alg": "EdDSA",
            "typ": "JOSE",
            "kid": KID,
            "canon": "sorted-ascii-json/1",
            "iat": 1_700_000_000,
            **header,
        }
        protected = base64url(
            json.dumps({name: content for name, content in head.items() if content is not None}).encode()
        )
        signature = self.key.sign(f"{protected}.{base64url(canonical_json(card))}".encode())
        return {"protected": protected, "signature": base64url(signature)}

    def signed(self, card: dict[str, Any] = CARD, **header: Any) -> dict[str, Any]:
        return {**card, "signatures": [self.entry(card, canon="jcs-a2a/1"), self.entry(card, **header)]}


def base64url(octets: bytes) -> str:
    return urlsafe_b64encode(octets).rstrip(b"=").decode()


def spoiled(signer: Signer) -> dict[str, dict[str, Any]]:
    """Return cards that must not be taken for signed, by their faults."""
    good = signer.signed()
    a2a, ours = good["signatures"]
    return {
        "a price changed": {**good, "pricing": {**CARD["pricing"], "base_rate": 0.5}},
        "a number in another type": {**good, "limits": [10**16, 10**30, -0.0]},
        "a member more": {**good, "extra": None},
        "a member less": {name: value for name, value in good.items() if name != "limits"},
        "no signature": CARD,
        "an empty list": {**CARD, "signatures": []},
        "only the other profile": {**CARD, "signatures": [a2a]},
        "our profile twice": {**CARD, "signatures": [ours, ours]},
        "an entry that is none": {**CARD, "signatures": [ours, 5]},
        "seventeen entries": {**CARD, "signatures": [*[a2a] * 16, ours]},
        "another algorithm": signer.signed(alg="none"),
        "an extension asked for": signer.signed(crit=["exp"]),
        "an unencoded payload": signer.signed(b64=False),
        "another kid": signer.signed(kid="spiffe://evil.example/registry/x#1"),
        "no kid": signer.signed(kid=None),
        "no time": signer.signed(iat=None),
        "a time in the future": signer.signed(iat=200_000_000_000),
        "a time that is no whole number": signer.signed(iat=1.5),
        "another type": signer.signed(typ="JWT"),
        "another's signature": {
            **CARD,
            "signatures": [{**ours, "signature": Signer().entry(CARD)["signature"]}],
        },
        "padding": {**CARD, "signatures": [{**ours, "signature": ours["signature"] + "=="}]},
        "an alias of the last character": {
            **CARD,
            "signatures": [{**ours, "signature": ours["signature"][:-1] + "B"}],
        },
        "a short signature": {**CARD, "signatures": [{**ours, "signature": ours["signature"][:-4]}]},
        "a signature that is no text": {**CARD, "signatures": [{**ours, "signature": 5}]},
        "a head that is no JSON": {**CARD, "signatures": [{**ours, "protected": base64url(b"{")}]},
        "a head that is no UTF-8": {**CARD, "signatures": [{**ours, "protected": base64url(b"\xff")}]},
    }


async def test_the_browser_verifies_what_a_registry_signed_however_it_is_laid_out(script_page: Page):
    signer = Signer()
    card = signer.signed()
    layouts = [
        json.dumps(card),
        json.dumps(card, ensure_ascii=False, indent=2),
        json.dumps(card, sort_keys=True),
    ]
    assert await script_page.evaluate(VERDICTS, [layouts, signer.keys()]) == [True] * 3


async def test_the_browser_takes_nothing_else_for_signed_and_says_why(script_page: Page):
    signer = Signer()
    cards = spoiled(signer)
    texts = [*map(json.dumps, cards.values()), "[]", "x", '{"a":1,"a":2}']
    keys = read_keys(json.loads(signer.keys()))
    assert [text for text in texts if verify_card(text, keys).is_valid] == []
    verdicts = await script_page.evaluate(VERDICTS, [texts, signer.keys()])
    assert [
        name for name, verdict in zip([*cards, *texts[-3:]], verdicts, strict=True) if verdict is True
    ] == []
    assert all(verdict.endswith(".") for verdict in verdicts)
    for keys_text in (
        "{}",
        '{"keys":[]}',
        signer.keys(crv="X25519"),
        signer.keys(x="AA"),
        signer.keys(x=5),
        "x",
    ):
        (verdict,) = await script_page.evaluate(VERDICTS, [[json.dumps(signer.signed())], keys_text])
        assert verdict is not True


async def test_no_character_of_a_signed_card_can_be_changed(script_page: Page):
    signer, draw = Signer(), random.Random(printed_seed())
    text = json.dumps(signer.signed(), ensure_ascii=False)
    changed = []
    for _ in range(MUTATIONS):
        place, character = draw.randrange(len(text)), draw.choice('aZ09 _-"{}[],:.eE\\')
        changed.append(
            draw.choice([text[:place] + character, text[:place]]) + text[place + draw.randrange(2) :]
        )
    keys = read_keys(json.loads(signer.keys()))
    expected = [verify_card(one, keys).is_valid for one in changed]
    found = [verdict is True for verdict in await script_page.evaluate(VERDICTS, [changed, signer.keys()])]
    assert found == expected
