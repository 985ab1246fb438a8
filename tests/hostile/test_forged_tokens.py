"""Forged, altered and borrowed tokens: none of them opens anything, and each is a 401."""

import base64
import hmac
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hansa.foundation.plumbing.keys.key_files import Keyring
from hansa.foundation.plumbing.keys.tokens import TokenIssuer, TokenKind
from hansa.foundation.values.jwk import jwk_of
from tests.hostile.refusals import fault_of
from tests.registry import TestRegistry

MALFORMED_HEADERS = (
    "Bearer",
    "Bearer ",
    "bearer\t",
    "Token {}",
    "Bearer Bearer {}",
    "Bearer {}, Bearer {}",
    "{}",
    "Basic {}",
)
IDENTITY_POINT = bytes([1, *bytes(31)])
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def part(value: Any) -> str:
    """One segment of a token."""
    raw = value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def opened(segment: str) -> dict[str, Any]:
    return json.loads(base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4)))


def signed(key: Ed25519PrivateKey, header: dict[str, Any], claims: Any) -> str:
    text = f"{part(header)}.{part(claims)}"
    return f"{text}.{part(key.sign(text.encode()))}"


def keyed_with(secret: bytes, header: dict[str, Any], claims: Any) -> str:
    text = f"{part(header)}.{part(claims)}"
    return f"{text}.{part(hmac.digest(secret, text.encode(), sha256))}"


def forgeries(good: str, key: Ed25519PrivateKey) -> Iterator[tuple[str, str]]:
    """Yield the forgeries of a good token by an attacker who has the public key and another key pair."""
    header_part, claims_part, signature = good.split(".")
    header, claims = opened(header_part), opened(claims_part)
    public, own = key.public_key(), Ed25519PrivateKey.generate()
    raw = public.public_bytes_raw()
    for none in ("none", "None", "NONE", "nOnE", "", None):
        bare = f"{part({**header, 'alg': none})}.{claims_part}"
        yield f"alg {none!r} without a signature", f"{bare}."
        yield f"alg {none!r} with the old signature", f"{bare}.{signature}"
    for name, secret in {
        "the raw public key": raw,
        "the public key in PEM": public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        "the public key in DER": public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        "the public JWK": json.dumps(jwk_of(raw)).encode(),
        "nothing": b"",
    }.items():
        yield f"an HMAC under {name}", keyed_with(secret, {**header, "alg": "HS256"}, claims)
    for algorithm in ("HS512", "RS256", "ES256", "Ed448", "dir", "A256GCM"):
        yield f"alg {algorithm}", f"{part({**header, 'alg': algorithm})}.{claims_part}.{signature}"
    yield "another key", signed(own, header, claims)
    own_jwk = jwk_of(own.public_key().public_bytes_raw())
    yield "a key that it brings itself", signed(own, {**header, "jwk": own_jwk}, claims)
    yield "an address of keys", signed(own, {**header, "jku": "https://evil.example/jwks.json"}, claims)
    for kid in ("../../../etc/passwd", "x' UNION SELECT 'a", "0"):
        yield f"kid {kid}", signed(own, {**header, "kid": kid}, claims)
    yield "an altered subject", f"{header_part}.{part({**claims, 'sub': '2'})}.{signature}"
    yield "a later end", f"{header_part}.{part({**claims, 'exp': claims['exp'] + 1})}.{signature}"
    yield "no signature", f"{header_part}.{claims_part}."
    yield "two parts", f"{header_part}.{claims_part}"
    yield "five parts", f"{good}.{claims_part}.{signature}"
    yield "a short signature", f"{header_part}.{claims_part}.{signature[:-4]}"
    yield "a signature of zeros", f"{header_part}.{claims_part}.{part(bytes(64))}"
    yield "a signature of the identity", f"{header_part}.{claims_part}.{part(IDENTITY_POINT + bytes(32))}"


def mistakes_of_the_signer(good: str, key: Ed25519PrivateKey) -> Iterator[tuple[str, str]]:
    """Tokens that our own key would have signed, and that we never issue."""
    header, claims = (opened(segment) for segment in good.split(".")[:2])
    for member, value in {
        "iss": "elsewhere.example",
        "aud": "hansa.local/another",
        "sub": "999999",
        "sid": "00000000-0000-0000-0000-000000000000",
        "exp": int(datetime.now(UTC).timestamp()) - 1,
    }.items():
        yield f"{member} {value}", signed(key, header, {**claims, member: value})
    for member in ("iss", "aud", "sub", "sid", "exp"):
        yield f"no {member}", signed(key, header, {k: v for k, v in claims.items() if k != member})
        for odd in (None, [], {}, True, "x" * 3000, "\x00", -1, 1e400, "1; DROP TABLE"):
            yield f"{member} {str(odd)[:20]!r}", signed(key, header, {**claims, member: odd})
    for typ in ("JWT", "", None, "Developer+jwt"):
        yield f"typ {typ!r}", signed(key, {**header, "typ": typ}, claims)
    yield "critical extensions", signed(key, {**header, "crit": ["exp"], "exp": 1}, claims)
    yield "an unencoded payload", signed(key, {**header, "b64": False, "crit": ["b64"]}, claims)
    for odd in ([], "text", 7, None, b"{", b"\xff", b'{"sub":"1","sub":"2"}'):
        yield f"claims {odd!r}", signed(key, header, odd)


def other_spellings(good: str) -> Iterator[tuple[str, str]]:
    """Texts that lenient decoders read as the same token: for each token there is one text."""
    *rest, signature = good.split(".")
    last = ALPHABET.index(signature[-1])
    # 64 bytes leave four bits of the last character without a meaning.
    for alias in ALPHABET[last // 16 * 16 : last // 16 * 16 + 16]:
        if alias != signature[-1]:
            yield f"last character {alias}", ".".join([*rest, signature[:-1] + alias])
    for name, spelling in {
        "padding": signature + "==",
        "one pad": signature + "=",
        "junk": signature[:5] + "!" + signature[5:],
        "a blank": signature[:5] + " " + signature[5:],
        "a tab": signature[:5] + "\t" + signature[5:],
    }.items():
        yield name, ".".join([*rest, spelling])
    for position, segment in enumerate(rest):
        yield f"padding of part {position}", good.replace(segment, segment + "=", 1)


@pytest.fixture
async def tokens(registry: TestRegistry) -> dict[TokenKind, str]:
    """A good token of each kind."""
    developer = await registry.developer()
    agent = await developer.agent()
    await registry.post("/auth/forgot-password", json={"email": developer.email})
    (mail,) = await registry.outbox()
    mailed = mail.get_body(("plain",)).get_content().split("#token=")[1].split()[0]
    return {
        TokenKind.DEVELOPER: developer.token,
        TokenKind.AGENT: agent.token,
        TokenKind.PASSWORD_SET: mailed,
    }


def key_of(registry: TestRegistry, kind: TokenKind) -> Ed25519PrivateKey:
    return Keyring(registry.settings.data_dir).ed25519(f"{kind}-token")


async def show(registry: TestRegistry, kind: TokenKind, token: str) -> Any:
    """Request a resource that a token of this kind opens, without an effect."""
    headers = {"Authorization": f"Bearer {token}"}
    if kind == TokenKind.PASSWORD_SET:
        return await registry.post("/auth/set-new-password", json={"new_password": "short"}, headers=headers)
    path = {TokenKind.DEVELOPER: "/auth/profile", TokenKind.AGENT: "/agents/me"}[kind]
    return await registry.get(path, headers=headers)


@pytest.mark.parametrize("make", [forgeries, mistakes_of_the_signer, other_spellings])
async def test_no_forged_token_opens_anything(
    registry: TestRegistry, tokens: dict[TokenKind, str], make: Callable[..., Iterator[tuple[str, str]]]
):
    opens, faults = [], []
    for kind, good in tokens.items():
        made = make(good) if make is other_spellings else make(good, key_of(registry, kind))
        for name, token in made:
            answer = await show(registry, kind, token)
            if answer.status_code != 401:
                opens.append(f"{kind} with {name}: {answer.status_code}")
            if fault := fault_of(answer):
                faults.append(f"{kind} with {name}: {fault}")
    assert (opens, faults) == ([], [])


async def test_each_kind_of_token_opens_its_own_door_and_no_other(
    registry: TestRegistry, tokens: dict[TokenKind, str]
):
    found = {
        (shown, asked): (await show(registry, asked, token)).status_code
        for shown, token in tokens.items()
        for asked in tokens
    }
    # 422: let in, and refused because the new password is too short.
    good = {TokenKind.DEVELOPER: 200, TokenKind.AGENT: 200, TokenKind.PASSWORD_SET: 422}
    assert found == {
        (shown, asked): good[asked] if shown == asked else 401 for shown in tokens for asked in tokens
    }


async def test_a_token_of_another_registry_is_refused(
    registry: TestRegistry, tokens: dict[TokenKind, str], tmp_path: Path
):
    elsewhere = TokenIssuer(Keyring(tmp_path), registry.settings.trust_domain)
    for kind, good in tokens.items():
        claims = registry.runtime.tokens.verify(kind, good)
        forged = elsewhere.issue(
            kind, claims.subject, session=claims.session, now=datetime.now(UTC), lifetime=timedelta(hours=1)
        )
        assert (await show(registry, kind, forged)).status_code == 401


async def test_a_key_in_use_for_one_kind_signs_no_other(registry: TestRegistry, tokens: dict[TokenKind, str]):
    """A thief of the key of one kind cannot make tokens of the others."""
    for kind, good in tokens.items():
        header, claims = (opened(segment) for segment in good.split(".")[:2])
        for other in set(TokenKind) - {kind}:
            forged = signed(key_of(registry, other), header, claims)
            assert (await show(registry, kind, forged)).status_code == 401


async def test_a_good_token_in_a_malformed_header_is_refused(
    registry: TestRegistry, tokens: dict[TokenKind, str]
):
    good = tokens[TokenKind.DEVELOPER]
    for header in MALFORMED_HEADERS:
        answer = await registry.get("/auth/profile", headers={"Authorization": header.replace("{}", good)})
        assert (header, answer.status_code, fault_of(answer)) == (header, 401, None)


async def test_two_authorization_headers_are_refused(registry: TestRegistry, tokens: dict[TokenKind, str]):
    good = f"Bearer {tokens[TokenKind.DEVELOPER]}".encode()
    headers = [(b"authorization", good), (b"authorization", good)]
    assert (await registry.get("/auth/profile", headers=headers)).status_code == 401
