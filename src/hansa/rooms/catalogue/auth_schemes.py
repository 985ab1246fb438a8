"""`authSchemes`, the list by which cards of the older form name their credentials, and its A2A counterpart.

The entries of the list are alternatives, as the requirements of A2A are.
"""

from typing import Any, NamedTuple

API_KEY_HEADER = "X-Api-Key"
NO_CREDENTIAL = "none"
BEARER = {"type": "http", "scheme": "bearer"}


class Security(NamedTuple):
    """Security schemes by name and the requirements that use them, in the 0.3 form of A2A."""

    schemes: dict[str, dict[str, Any]]
    requirements: list[dict[str, list[str]]]


def security_of(auth_schemes: Any) -> Security | None:
    """Return the security of the list in the terms of A2A; None where it asks for no credential or is no such list."""
    schemes: dict[str, dict[str, Any]] = {}
    requirements: list[dict[str, list[str]]] = []
    is_optional = False
    for entry in auth_schemes if isinstance(auth_schemes, list) else []:
        declared = {"scheme": entry} if isinstance(entry, str) else entry
        if not isinstance(declared, dict) or not isinstance(declared.get("scheme"), str):
            continue
        name = declared["scheme"]
        is_optional = is_optional or name == NO_CREDENTIAL
        scheme = _scheme_of(name, declared)
        if scheme is not None and name not in schemes:
            schemes[name] = scheme
            requirements.append({name: _scopes(declared) if scheme["type"] == "oauth2" else []})
    if not schemes:
        return None
    return Security(schemes, [*requirements, {}] if is_optional else requirements)


def auth_schemes_of(card: dict[str, Any]) -> list[dict[str, Any]]:
    """The list for a card that states its schemes and requirements in the 0.3 form of A2A."""
    schemes, security = card.get("securitySchemes"), card.get("security")
    if not isinstance(security, list) or not security:
        return [{"scheme": NO_CREDENTIAL}]
    entries: list[dict[str, Any]] = []
    for requirement in security:
        names = list(requirement) if isinstance(requirement, dict) else []
        entry: dict[str, Any] | None = None
        if not names:
            entry = {"scheme": NO_CREDENTIAL}
        # Credentials that must be shown together cannot be said in this list.
        elif len(names) == 1 and isinstance(schemes, dict):
            entry = _entry_of(schemes.get(names[0]))
        if entry is not None and entry not in entries:
            entries.append(entry)
    return entries


def _scheme_of(name: str, stated: dict[str, Any]) -> dict[str, Any] | None:
    if name == "apiKey":
        return {"type": "apiKey", "in": "header", "name": API_KEY_HEADER}
    if name == "bearer":
        return dict(BEARER)
    if name in {"mtls", "mutualTLS"}:
        return {"type": "mutualTLS"}
    if name != "oauth2":
        return None
    scopes = _scopes(stated)
    token_url = stated.get("tokenUrl")
    if not isinstance(token_url, str) or not token_url or not scopes:
        # A2A demands the address and at least one scope of an OAuth flow; the token itself is a bearer token.
        return dict(BEARER)
    flow = {"tokenUrl": token_url, "scopes": {scope: scope for scope in scopes}}
    return {"type": "oauth2", "flows": {"clientCredentials": flow}}


def _entry_of(scheme: Any) -> dict[str, Any] | None:
    kind = scheme.get("type") if isinstance(scheme, dict) else None
    if kind == "apiKey":
        return {"scheme": "apiKey"}
    if kind == "mutualTLS":
        return {"scheme": "mutualTLS"}
    if kind == "http":
        return {"scheme": "bearer"} if str(scheme.get("scheme")).lower() == "bearer" else None
    if kind == "oauth2":
        return _oauth_entry(scheme.get("flows"))
    return {"scheme": "bearer"} if kind == "openIdConnect" else None


def _oauth_entry(flows: Any) -> dict[str, Any]:
    flow = flows.get("clientCredentials") if isinstance(flows, dict) else None
    token_url = flow.get("tokenUrl") if isinstance(flow, dict) else None
    if not isinstance(flow, dict) or not isinstance(token_url, str) or not token_url:
        return {"scheme": "bearer"}
    scopes = flow.get("scopes")
    return {
        "scheme": "oauth2",
        "tokenUrl": token_url,
        "scopes": list(scopes) if isinstance(scopes, dict) else [],
    }


def _scopes(stated: dict[str, Any]) -> list[str]:
    scopes = stated.get("scopes")
    return [one for one in scopes if isinstance(one, str) and one] if isinstance(scopes, list) else []
