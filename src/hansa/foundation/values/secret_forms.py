"""Secrets in text that others wrote: found by their form, and replaced by `[redacted:<kind>]`.

Forms of this registry, signed tokens but public proofs, and private keys in PEM. Passwords and seeds of apps have no form. Each pattern
takes time in proportion to the text: a run of characters is read once.
"""

import base64
import binascii
import json
import re

KINDS = {
    "apt_": "payment_token",
    "att_": "capability",
    "avreg_": "api_key",
    "bst_": "bootstrap_token",
    "evt_": "email_token",
    "hac_": "authorization_code",
    "hbs_": "browser_session",
    "hfl_v1_": "licence_key",
    "hpd_": "phone",
    "hpt_": "login_token",
    "hrt_": "refresh_token",
    "hsk_": "client_secret",
    "oit_": "organization_invitation",
    "wst_": "feed_ticket",
}
"""Kind of each secret of random hex digits, by its prefix."""

HEX_DIGITS_MIN = 16
_HEX = re.compile(rf"({'|'.join(KINDS)})[0-9A-Fa-f]{{{HEX_DIGITS_MIN},}}")
_OTHERS = {
    "private_key": re.compile(
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:.*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|.*)"
        # The one line of an Ed25519 key, logged without its frame.
        r"|MC4CAQAwBQYDK2VwBCIEI[A-Za-z0-9+/]{16,}={0,2}",
        re.DOTALL,
    ),
    "webhook_secret": re.compile(r"whsec_[A-Za-z0-9+/_=-]{16,}"),
    "recovery_key": re.compile(r"avrec(?:-[0-9A-Fa-f]{8}){3}"),
    "invitation": re.compile(r"HANSA(?:-[0-9A-Z]{4}){4}"),
    "backup_code": re.compile(r"(?<![0-9A-Za-z-])[0-9A-Fa-f]{4}(?:-[0-9A-Fa-f]{4}){4}(?![0-9A-Za-z-])"),
}
# A text without any of these has none of the forms above.
_MARKS = ("_", "-", "MC4C")
_SIGNED = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]++(?:\.[A-Za-z0-9_-]++){2,}+")
_HEADER_START = "eyJ"
_PROOF_TYPES = "+jws"
"""End of the `typ` of every public proof."""


def without_secrets(text: str) -> str:
    """Return the text with each secret replaced by `[redacted:<kind>]`."""
    if any(mark in text for mark in _MARKS):
        for kind, form in _OTHERS.items():
            text = form.sub(f"[redacted:{kind}]", text)
        text = _HEX.sub(lambda found: f"[redacted:{KINDS[found[1]]}]", text)
    return _SIGNED.sub(lambda found: _without_token(found[0]), text) if _HEADER_START in text else text


def _without_token(run: str) -> str:
    """Return a run of segments without the token that begins in one of them and has two more."""
    segments = run.split(".")
    start = 0
    for segment in segments[:-2]:
        at = segment.find(_HEADER_START)
        if at >= 0 and not _is_proof(segment[at:]):
            return run[: start + at] + "[redacted:token]"
        start += len(segment) + 1
    return run


def _is_proof(segment: str) -> bool:
    try:
        header = json.loads(base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4)))
    except (ValueError, RecursionError, binascii.Error):
        return False
    typ = header.get("typ") if isinstance(header, dict) else None
    return isinstance(typ, str) and typ.endswith(_PROOF_TYPES)
