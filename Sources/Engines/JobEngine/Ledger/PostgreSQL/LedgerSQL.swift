/// Texts of the ledger's statements. Each works on a whole round of entries, whose values come as arrays.
///
/// All times are the server's: hosts give durations only, so the difference of their clocks changes nothing.
struct LedgerSQL: Sendable {
  /// The server's clock: milliseconds since 1970, at the begin of the transaction. A statement that waited for a lock
  /// then counts the wait as time that has passed of the lease, so no lease is judged too early.
  static let serverClock = "(floor(extract(epoch FROM now()) * 1000))::bigint"

  let insertClaims: String
  let settle: String
  let rows: String
  let takeOver: String
  let shorten: String
  let forgetReleased: String
  let makeIdle: String
  let purge: String

  init(clock: String = serverClock) {
    insertClaims = """
      INSERT INTO ledger_job (key, state, token, lane, lease_until, unknown_calls, written_at, keep_until)
      SELECT c.key, 1, c.token, c.lane, t.now + c.lease, c.calls, t.now, t.now + c.keep
      FROM unnest($1::bytea[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
        AS c (key, token, lane, lease, calls, keep), (SELECT \(clock) AS now) AS t
      ON CONFLICT (key) DO NOTHING RETURNING key, written_at
      """
    // An index leads by `keep_until`; while the column stays as it is, the update needs no entry in any index.
    settle = """
      INSERT INTO ledger_job AS j (key, state, token, lane, lease_until, unknown_calls, written_at, keep_until, result,
        match_key, correlation_id)
      SELECT c.key, 2, 0, '', 0, 0, t.now, t.now + c.keep, c.result, c.match_key, c.correlation_id
      FROM unnest($1::bytea[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[])
        AS c (key, keep, result, match_key, correlation_id), (SELECT \(clock) AS now) AS t
      ON CONFLICT (key) DO UPDATE SET state = 2, token = 0, lane = '', lease_until = 0,
        written_at = excluded.written_at, result = excluded.result, match_key = excluded.match_key,
        correlation_id = excluded.correlation_id, keep_until =
          CASE WHEN excluded.keep_until > j.keep_until + 60000 THEN excluded.keep_until ELSE j.keep_until END
      WHERE j.state <> 2 RETURNING key
      """
    rows = """
      SELECT key, state, token, lane, lease_until, unknown_calls, written_at, result, \(clock)
      FROM ledger_job WHERE key = ANY ($1::bytea[])
      """
    // The row is still the one that was decided about.
    takeOver = """
      UPDATE ledger_job AS j SET state = 1, token = c.token, lane = c.lane, lease_until = t.now + c.lease,
        unknown_calls = c.calls, written_at = t.now, keep_until = t.now + c.keep
      FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[],
          $8::bigint[], $9::bigint[])
        AS c (key, seen_state, seen_token, seen_lease, token, lane, lease, calls, keep),
        (SELECT \(clock) AS now) AS t
      WHERE j.key = c.key AND j.state = c.seen_state AND j.token = c.seen_token AND j.lease_until = c.seen_lease
      RETURNING j.key
      """
    shorten = """
      UPDATE ledger_job AS j SET lease_until = t.now + (j.lease_until - j.written_at), written_at = t.now
      FROM unnest($1::bytea[], $2::bigint[], $3::bigint[]) AS c (key, seen_token, seen_lease),
        (SELECT \(clock) AS now) AS t
      WHERE j.key = c.key AND j.state = 1 AND j.token = c.seen_token AND j.lease_until = c.seen_lease
      """
    forgetReleased = """
      DELETE FROM ledger_job AS j USING unnest($1::bytea[], $2::bigint[]) AS c (key, token)
      WHERE j.key = c.key AND j.token = c.token AND j.state = 1 AND j.unknown_calls = 0
      """
    makeIdle = """
      UPDATE ledger_job AS j SET state = 0, unknown_calls = j.unknown_calls + c.calls
      FROM unnest($1::bytea[], $2::bigint[], $3::bigint[]) AS c (key, token, calls)
      WHERE j.key = c.key AND j.token = c.token AND j.state = 1
      """
    // Workers of all hosts forget at the same time, and each takes other rows.
    purge = """
      WITH gone AS (
        DELETE FROM ledger_job WHERE key IN (
          SELECT key FROM ledger_job WHERE keep_until >= $1 AND keep_until < \(clock)
          ORDER BY keep_until LIMIT $2 FOR UPDATE SKIP LOCKED)
        RETURNING keep_until)
      SELECT count(*), max(keep_until) FROM gone
      """
  }

  /// The newest job of that key: a provider may use an ID again one day.
  static let matched = """
    SELECT key, correlation_id FROM ledger_job WHERE match_key = $1 ORDER BY written_at DESC LIMIT 1
    """

  /// Ended jobs only: the ledger exists for begun ones, and for those that may have begun.
  static let forgetOldest = """
    DELETE FROM ledger_job WHERE key IN (
      SELECT key FROM ledger_job WHERE state = 2 ORDER BY keep_until LIMIT $1 FOR UPDATE SKIP LOCKED)
    """

  /// Bytes of the table with its indexes, an estimate of its rows, the average size of some rows, and the last write of
  /// the one that is forgotten next.
  ///
  /// Statistics are lost in a crash of the server; until the next analysis the catalog's estimate has to do.
  static let size = """
    SELECT pg_total_relation_size('ledger_job'),
      coalesce((SELECT CASE WHEN n_live_tup + n_dead_tup > 0 THEN n_live_tup END FROM pg_stat_user_tables
        WHERE relid = 'ledger_job'::regclass), (SELECT greatest(reltuples, 0)::bigint FROM pg_class
        WHERE oid = 'ledger_job'::regclass), 0)::bigint,
      coalesce((SELECT avg(pg_column_size(sample.*))::bigint FROM (SELECT * FROM ledger_job LIMIT 200) AS sample), 0),
      (SELECT written_at FROM ledger_job ORDER BY keep_until LIMIT 1)
    """
}
