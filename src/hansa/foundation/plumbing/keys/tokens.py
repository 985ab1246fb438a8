"""Signed bearer tokens: EdDSA JWTs, each kind with its own key, `typ` and audience, so that none passes for another.

A token proves who it was given to, and when it ends. Whether its bearer may still act is read from the database at
the decision, where its clock also judges the expiry.
"""

import re
import warnings
from collections import OrderedDict
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import uuid4

import msgspec
from joserfc import jws, jwt
from joserfc.errors import JoseError, SecurityWarning
from joserfc.jwk import OKPKey

from hansa.foundation.plumbing.keys.key_files import Keyring, private_pem
from hansa.foundation.values.errors import Unauthorized
from hansa.foundation.values.jwk import thumbprint

# RFC 9864 prefers the name Ed25519 for what every client of this protocol knows as EdDSA.
warnings.filterwarnings("ignore", message="EdDSA is deprecated", category=SecurityWarning)

# Of each kind, whole: a digest of each token that is shown would cost more than the rest of finding it.
VERIFIED_TOKENS_KEPT = 20_000
TOKEN_MAX_CHARACTERS = 4096
# The year 36812, in epoch seconds.
EXPIRY_MAX = 1 << 40


class TokenKind(StrEnum):
    """The `typ` of a token; its audience and its key are named after it."""

    DEVELOPER = "developer"
    AGENT = "agent"
    ACCESS = "access"
    """Token of a connected client (OAuth); `access_tokens.py` has its claims."""
    PASSWORD_SET = "password-set"  # noqa: S105


# One text for each token: no padding, and no alias of the signature's last character, whose low bits mean nothing.
_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{85}[AQgw]", re.ASCII)
_NUMBER = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
# An API key behind a ticket of the live feed has no session of its own.
_SESSION = re.compile(rf"{_UUID.pattern}|api-key:[1-9][0-9]{{0,17}}", re.ASCII)
_WORD = re.compile(r"[!-~]{1,255}", re.ASCII)
# Of each kind the forms of its subject and its session.
_FORMS = {
    TokenKind.DEVELOPER: (_NUMBER, _SESSION),
    TokenKind.AGENT: (_WORD, _WORD),
    TokenKind.PASSWORD_SET: (_NUMBER, _UUID),
}


class Claims(msgspec.Struct, frozen=True):
    """Claims of a verified token. `expires_at` is in epoch seconds."""

    subject: str
    expires_at: int
    session: str
    actor: str | None = None
    """Who acts as the subject, where that is somebody else (RFC 8693)."""


class TokenIssuer:
    """Issues and verifies the bearer tokens of one registry."""

    def __init__(self, keys: Keyring, issuer: str) -> None:
        self._issuer = issuer
        private_keys = {kind: keys.ed25519(f"{kind}-token") for kind in TokenKind}
        self._keys = {kind: OKPKey.import_key(private_pem(key)) for kind, key in private_keys.items()}
        self.public_keys = {kind: key.public_key().public_bytes_raw() for kind, key in private_keys.items()}
        """The 32 bytes of the key that verifies each kind."""
        self._kids = {kind: thumbprint(key) for kind, key in self.public_keys.items()}
        self._registry = jws.JWSRegistry(algorithms=["EdDSA"])
        self._verified: dict[TokenKind, OrderedDict[str, Claims]] = {
            kind: OrderedDict() for kind in TokenKind
        }

    def issue(
        self,
        kind: TokenKind,
        subject: str,
        *,
        session: str,
        now: datetime,
        lifetime: timedelta,
        actor: str | None = None,
    ) -> str:
        """A token for `subject`, or for its owner acting as it, that ends `lifetime` after `now`, the database's clock."""
        issued_at = int(now.timestamp())
        claims: dict[str, Any] = {
            "iss": self._issuer,
            "aud": f"{self._issuer}/{kind}",
            "sub": subject,
            "sid": session,
            "iat": issued_at,
            "exp": issued_at + int(lifetime.total_seconds()),
            "jti": str(uuid4()),
        }
        if actor is not None:
            claims["act"] = {"sub": actor}
        return self.sign(kind, f"{kind}+jwt", claims)

    def sign(self, kind: TokenKind, typ: str, claims: dict[str, Any]) -> str:
        """A token with these claims by the key of this kind."""
        header = {"alg": "EdDSA", "typ": typ, "kid": self._kids[kind]}
        return jwt.encode(header, claims, self._keys[kind], registry=self._registry)

    def verify(self, kind: TokenKind, token: str) -> Claims:
        """The claims of a genuine token of this kind; the expiry is for the caller to judge.

        Raises: Unauthorized.
        """
        verified = self._verified[kind]
        known = verified.get(token)
        if known is None:
            known = verified[token] = self._verify_anew(kind, token)
            if len(verified) > VERIFIED_TOKENS_KEPT:
                verified.popitem(last=False)
        return known

    def _verify_anew(self, kind: TokenKind, token: str) -> Claims:
        claims = self.opened(
            kind, f"{kind}+jwt", token, issuer=self._issuer, audience=f"{self._issuer}/{kind}"
        )
        return _claims_of(kind, claims)

    def opened(self, kind: TokenKind, typ: str, token: str, *, issuer: str, audience: str) -> dict[str, Any]:
        """The claims of a genuine token of this kind, issuer and audience. Raises: Unauthorized."""
        if len(token) > TOKEN_MAX_CHARACTERS or not _TOKEN.fullmatch(token):
            raise Unauthorized
        try:
            opened = jwt.decode(token, self._keys[kind], registry=self._registry)
        except (JoseError, ValueError, TypeError, KeyError, AttributeError):
            raise Unauthorized from None
        claims = opened.claims
        if (opened.header.get("typ"), claims.get("iss"), claims.get("aud")) != (typ, issuer, audience):
            raise Unauthorized
        return claims


def _claims_of(kind: TokenKind, claims: dict[str, Any]) -> Claims:
    """The claims in the form in which they were issued. Raises: Unauthorized."""
    subject, session, expires_at = claims.get("sub"), claims.get("sid"), claims.get("exp")
    subject_form, session_form = _FORMS[kind]
    if not isinstance(subject, str) or not isinstance(session, str) or type(expires_at) is not int:
        raise Unauthorized
    in_form = subject_form.fullmatch(subject) and session_form.fullmatch(session)
    if not in_form or not 0 <= expires_at < EXPIRY_MAX:
        raise Unauthorized
    return Claims(subject, expires_at=expires_at, session=session, actor=_actor_of(claims))


def _actor_of(claims: dict[str, Any]) -> str | None:
    if "act" not in claims:
        return None
    act = claims["act"]
    actor = act.get("sub") if isinstance(act, dict) else None
    if not isinstance(actor, str) or not _WORD.fullmatch(actor):
        raise Unauthorized
    return actor
