"""The signing keys of agents: the present one, and those before it with their times."""

from hansa.rooms.agents.keys.reading import keys_of, keys_of_each, newest_keys, public_key_of
from hansa.rooms.agents.keys.routes import router
from hansa.rooms.agents.keys.schemas import BroughtKey, PublicKey

__all__ = ["BroughtKey", "PublicKey", "keys_of", "keys_of_each", "newest_keys", "public_key_of", "router"]
