public import PostgreSQL

/// The ledger's table in PostgreSQL.
public enum LedgerSchemaPostgreSQL {
  /// Keys, results and IDs are bytes: what others choose may hold U+0000, which no text of PostgreSQL may. A job's row is
  /// written twice; the free part of each page takes the second version, so that no index has to be changed. The lane of
  /// a call to look up stays in the row: empty when no ledger knew it. The table turns over once in some hours: it is
  /// vacuumed by numbers of rows that do not grow with it. The planner keeps no samples of what services and providers
  /// said.
  public static let part = PostgreSQLSchemaPart(
    "ledger",
    [
      """
      CREATE TABLE ledger_job (
        key bytea PRIMARY KEY,
        state smallint NOT NULL,
        token bigint NOT NULL,
        lane text COLLATE "C" NOT NULL,
        lease_until bigint NOT NULL,
        unknown_calls integer NOT NULL,
        written_at bigint NOT NULL,
        keep_until bigint NOT NULL,
        abandoned_lane text COLLATE "C",
        result bytea,
        match_key bytea,
        correlation_id bytea
      ) WITH (
        fillfactor = 20, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
        autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1
      );
      CREATE INDEX ledger_job_by_keep_until ON ledger_job (keep_until);
      CREATE INDEX ledger_job_by_match_key ON ledger_job (match_key) WHERE match_key IS NOT NULL;
      ALTER TABLE ledger_job ALTER COLUMN result SET STATISTICS 0, ALTER COLUMN correlation_id SET STATISTICS 0;
      """
    ])
}
