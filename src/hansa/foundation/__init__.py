"""What every room stands on and which knows no room: words, events, plumbing."""
