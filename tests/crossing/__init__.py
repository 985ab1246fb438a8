"""The protocol of transfers between registries, without network and database: simulated, explored, with planted bugs."""
