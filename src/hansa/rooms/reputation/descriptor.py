"""What the process needs to know of reputation."""

from hansa.foundation.plumbing.room import Room

ROOM = Room(name="reputation")
