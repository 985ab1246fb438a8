"""Notifications: what is sent to owners because something happened."""

from .descriptor import ROOM
from .owner_notices import OWNER_NOTICES
from .webhooks import waiting_deliveries, withhold_deliveries

__all__ = ["OWNER_NOTICES", "ROOM", "waiting_deliveries", "withhold_deliveries"]
