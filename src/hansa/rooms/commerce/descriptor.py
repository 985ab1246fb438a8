"""What the process needs to know of commerce."""

from hansa.foundation.plumbing.room import Room

ROOM = Room(name="commerce")
