"""Everything that lets the world in."""
