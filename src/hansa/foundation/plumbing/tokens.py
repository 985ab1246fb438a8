"""Signed bearer tokens: EdDSA JWTs, each kind with its own key, `typ` and audience, so that none passes for another.

A token proves who it was given to, and when it ends. Whether its bearer may still act is read from the database at
the decision, where its clock also judges the expiry.
"""

import warnings
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Any
from uuid import uuid4

from joserfc import jws, jwt
from joserfc.errors import JoseError, SecurityWarning
from joserfc.jwk import OKPKey

from hansa.foundation.plumbing.keys import Keyring, private_pem
from hansa.foundation.words.errors import Unauthorized

# RFC 9864 prefers the name Ed25519 for what every client of this protocol knows as EdDSA.
warnings.filterwarnings("ignore", message="EdDSA is deprecated", category=SecurityWarning)

VERIFIED_TOKENS_KEPT = 20_000
TOKEN_MAX_CHARACTERS = 4096


class TokenKind(StrEnum):
    """The `typ` of a token; its audience and its key are named after it."""

    DEVELOPER = "developer"
    AGENT = "agent"
    PASSWORD_SET = "password-set"  # noqa: S105


@dataclass(frozen=True)
class Claims:
    """What a verified token says. `expires_at` is in epoch seconds."""

    subject: str
    expires_at: int
    session: str
    actor: str | None = None
    """Who acts as the subject, where that is somebody else (RFC 8693)."""


class TokenDesk:
    """Issues and verifies the bearer tokens of one registry."""

    def __init__(self, keys: Keyring, issuer: str) -> None:
        self._issuer = issuer
        self._keys = {
            kind: OKPKey.import_key(private_pem(keys.ed25519(f"{kind}-token"))) for kind in TokenKind
        }
        self._registry = jws.JWSRegistry(algorithms=["EdDSA"])
        self._verified: OrderedDict[bytes, Claims] = OrderedDict()

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
        """A token for `subject`, or for whoever acts as it, that ends `lifetime` after `now`, the database's clock."""
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
        return jwt.encode(
            {"alg": "EdDSA", "typ": f"{kind}+jwt"}, claims, self._keys[kind], registry=self._registry
        )

    def verify(self, kind: TokenKind, token: str) -> Claims:
        """The claims of a genuine token of this kind; the expiry is for the caller to judge.

        Raises: Unauthorized.
        """
        fingerprint = sha256(f"{kind} {token}".encode()).digest()
        known = self._verified.get(fingerprint)
        if known is None:
            known = self._verified[fingerprint] = self._verify_anew(kind, token)
            if len(self._verified) > VERIFIED_TOKENS_KEPT:
                self._verified.popitem(last=False)
        return known

    def _verify_anew(self, kind: TokenKind, token: str) -> Claims:
        if len(token) > TOKEN_MAX_CHARACTERS or not token.isascii():
            raise Unauthorized
        try:
            opened = jwt.decode(token, self._keys[kind], registry=self._registry)
        except (JoseError, ValueError, TypeError, KeyError):
            raise Unauthorized from None
        claims = opened.claims
        genuine = (
            opened.header.get("typ") == f"{kind}+jwt"
            and claims.get("iss") == self._issuer
            and claims.get("aud") == f"{self._issuer}/{kind}"
        )
        if not genuine:
            raise Unauthorized
        actor = claims["act"]["sub"] if "act" in claims else None
        return Claims(claims["sub"], expires_at=claims["exp"], session=claims["sid"], actor=actor)
