/// SQLite in WAL mode with group commit and migrations.
