"""API keys: credentials of scripts in place of a developer token."""

from .make import (
    KEY_PREFIX,
    check_api_key,
    check_key_behind_ticket,
    list_keys,
    make_key,
    restore_key,
    revoke_key,
)
from .routes import router
from .schemas import ApiKeyIn, MadeKeyOut

__all__ = [
    "KEY_PREFIX",
    "ApiKeyIn",
    "MadeKeyOut",
    "check_api_key",
    "check_key_behind_ticket",
    "list_keys",
    "make_key",
    "restore_key",
    "revoke_key",
    "router",
]
