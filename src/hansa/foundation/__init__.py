"""Foundation of every room, which knows no room: words, events, plumbing."""
