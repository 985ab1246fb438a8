"""The account of a person: signing up, access that was lost, security, terms, API keys, webhooks, deletion."""

from . import (
    api_keys,
    deletion,
    home_page,
    lost_access,
    phones,
    requests,
    security,
    sign_up,
    terms,
    two_factor,
    webhook_page,
    webhooks,
)

ROUTERS = (
    home_page.router,
    sign_up.router,
    lost_access.router,
    security.router,
    terms.router,
    two_factor.router,
    phones.router,
    deletion.router,
    api_keys.router,
    webhooks.router,
    webhook_page.router,
    requests.router,
)

__all__ = ["ROUTERS"]
