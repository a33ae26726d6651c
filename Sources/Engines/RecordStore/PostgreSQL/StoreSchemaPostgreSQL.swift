public import PostgreSQL

/// The tables of a store in PostgreSQL. Times are milliseconds since 1970.
public enum StoreSchemaPostgreSQL {
  /// To change the tables of databases that exist, a script goes to the end of `steps`. Released ones stay as they are.
  ///
  /// Hashes, and names that others choose, are bytes: a text of PostgreSQL takes no U+0000. Kinds and IDs are ASCII,
  /// compared by their bytes. Keys lead to the ID of their record and are deleted with it.
  ///
  /// `retry` of the outbox is empty while its owner has the message in hand, and the end of the hold while it is held.
  /// Its rows live for milliseconds, and those of counters change all the time: these tables are vacuumed by a number
  /// of rows that does not grow with them, and counters leave room on each page for the next version of a row.
  public static let part = PostgreSQLSchemaPart(
    "store", [tables + MemberSchemaPostgreSQL.sql + privacy + comments] + steps)

  /// Scripts that follow version 1: none yet, but for that of a test.
  private static var steps: [String] { PlantedStep.scripts }

  private static let tables = """
    CREATE TABLE store_service (
      name text COLLATE "C" NOT NULL,
      single boolean PRIMARY KEY DEFAULT true CHECK (single)
    );

    CREATE TABLE store_copy (
      id text COLLATE "C" NOT NULL,
      target boolean NOT NULL,
      other text NOT NULL
    );

    CREATE TABLE store_inbox (
      key bytea PRIMARY KEY,
      state smallint NOT NULL,
      fingerprint bytea NOT NULL,
      type text COLLATE "C" NOT NULL,
      reply bytea NOT NULL,
      keep bigint NOT NULL
    ) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1);
    CREATE INDEX store_inbox_keep ON store_inbox (keep);

    CREATE TABLE store_record (
      kind text COLLATE "C" NOT NULL,
      id text COLLATE "C" NOT NULL,
      version bigint NOT NULL,
      due bigint,
      discard bigint,
      format integer NOT NULL,
      keys bytea NOT NULL,
      body bytea NOT NULL,
      PRIMARY KEY (id, kind)
    ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1);
    CREATE INDEX store_record_due ON store_record (kind, due) WHERE due IS NOT NULL;
    CREATE INDEX store_record_discard ON store_record (discard) WHERE due IS NULL AND discard IS NOT NULL;

    CREATE TABLE store_unique (
      key bytea PRIMARY KEY,
      id text COLLATE "C" NOT NULL
    ) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1);
    CREATE TABLE store_group (
      key bytea NOT NULL,
      id text COLLATE "C" NOT NULL,
      PRIMARY KEY (key, id)
    ) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1);

    CREATE TABLE store_counter (
      key bytea NOT NULL,
      slot bigint NOT NULL,
      count bigint NOT NULL,
      keep bigint NOT NULL,
      PRIMARY KEY (key, slot)
    ) WITH (
      fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
      autovacuum_vacuum_cost_delay = 0
    );
    CREATE INDEX store_counter_keep ON store_counter (keep);

    CREATE SEQUENCE store_owner_seq MAXVALUE 2147483647 NO CYCLE;
    CREATE TABLE store_owner (
      number integer PRIMARY KEY,
      process integer NOT NULL DEFAULT pg_backend_pid(),
      application text NOT NULL DEFAULT current_setting('application_name'),
      address inet DEFAULT inet_client_addr(),
      since timestamptz NOT NULL DEFAULT now()
    );

    CREATE SEQUENCE store_outbox_seq NO CYCLE;
    CREATE TABLE store_outbox (
      number bigint PRIMARY KEY,
      owner integer NOT NULL,
      retry bigint,
      discard bigint,
      hold bytea,
      tries integer NOT NULL,
      type text COLLATE "C" NOT NULL,
      content bytea NOT NULL
    ) WITH (
      autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1,
      autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000, autovacuum_vacuum_cost_delay = 0
    );
    CREATE INDEX store_outbox_owner ON store_outbox (owner, retry);
    CREATE INDEX store_outbox_hold ON store_outbox (hold) WHERE hold IS NOT NULL;

    """

  /// The planner keeps no samples of what may hold numbers or sealed codes. Nothing is looked up by these columns.
  private static let privacy = """
    ALTER TABLE store_inbox ALTER COLUMN reply SET STATISTICS 0;
    ALTER TABLE store_record ALTER COLUMN keys SET STATISTICS 0, ALTER COLUMN body SET STATISTICS 0;
    ALTER TABLE store_outbox ALTER COLUMN content SET STATISTICS 0;

    """

  private static let comments = """
    COMMENT ON TABLE store_service IS 'The service whose database it is: that of its first process.';
    COMMENT ON TABLE store_copy IS 'A copy of or into this database that has begun and not ended: countersign store copy.';
    COMMENT ON TABLE store_inbox IS
      'Messages that were carried out, with their replies, until "keep"; deleted by the coordinators.';
    COMMENT ON TABLE store_record IS
      'Operations: handled by a coordinator when "due" has passed, deletable unread after "discard" if never due.';
    COMMENT ON TABLE store_unique IS 'Keys (name, zero byte, hash) that one record holds at a time.';
    COMMENT ON TABLE store_group IS 'Keys (name, zero byte, hash) that records share.';
    COMMENT ON TABLE store_counter IS 'Events by slots of time, for limits and conversion, until "keep".';
    COMMENT ON TABLE store_owner IS
      'Sessions of coordinators. One lives as long as it holds the advisory lock (1668510580, number).';
    COMMENT ON TABLE store_outbox IS
      'Messages to publish. "retry": NULL in the hand of its owner, 9223372036854775807 unreadable, else due.';
    COMMENT ON COLUMN store_outbox.tries IS 'Above 0: it may have been published already.';
    """
}

enum MemberSchemaPostgreSQL {
  static let sql = """
    CREATE TABLE store_member (
      owner integer PRIMARY KEY,
      name text NOT NULL DEFAULT current_setting('application_name'),
      admitted boolean NOT NULL,
      seen timestamptz NOT NULL DEFAULT now(),
      secrets text COLLATE "C" NOT NULL,
      projects text COLLATE "C" NOT NULL
    );
    COMMENT ON TABLE store_member IS
      'Processes with check values (keyed hashes) of their keys and peppers, by the number of store_owner.';

    """
}
