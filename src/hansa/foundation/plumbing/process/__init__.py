"""One serving process: its runtime and slots, its files and its data directory."""
