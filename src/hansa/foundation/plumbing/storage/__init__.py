"""The database: connections, transactions, migrations, SQL files, backups and the embedded server."""
