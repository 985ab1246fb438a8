"""Settings, the database, keys, callers, limits and the other pipes; knows words and events, and no room."""
