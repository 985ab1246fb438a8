"""Descriptor of notifications for the process."""

from hansa.foundation.plumbing.jobs import sweep
from hansa.foundation.plumbing.room import AccountEnd, Room, Routes
from hansa.foundation.plumbing.telemetry.metrics import webhook_tries_total

from .owner_notices import OWNER_NOTICES
from .webhooks import SEALED_SECRETS, WEBHOOKS, erase_webhooks, forget_old_deliveries, router

ROOM = Room(
    name="notifications",
    routes=(Routes(800, router),),
    reactors=(OWNER_NOTICES,),
    jobs=(WEBHOOKS, sweep("webhooks: forget old deliveries", 3600, forget_old_deliveries)),
    settings=frozenset({"outgoing_allow_user_hosts"}),
    metrics=(webhook_tries_total,),
    account_end=AccountEnd(erase=erase_webhooks),
    sealed=SEALED_SECRETS,
)
