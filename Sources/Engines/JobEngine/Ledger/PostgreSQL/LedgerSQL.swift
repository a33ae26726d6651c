/// All times are the server's: hosts give durations only, so the difference of their clocks changes nothing.
struct LedgerSQL: Sendable {
  /// The server's clock: milliseconds since 1970, at the begin of the transaction. A statement that waited for a lock
  /// then counts the wait as time that has passed of the lease, so no lease is judged too early.
  static let serverClock = "(floor(extract(epoch FROM now()) * 1000))::bigint"

  /// Milliseconds by which a claim may lie ahead of the clock: its transaction began while another one waited for it.
  /// A claim further ahead was written before the clock was set back.
  static let tolerance = 5_000

  let claim: String
  let settle: String
  let purge: String

  init(clock: String = serverClock) {
    // A row that is left as it is costs a dead version of it, and only a job that is delivered again has one. The row
    // then has the answer: whose it is, and whether its claimant took over a call that may have begun.
    let others = "j.state = 1 AND j.token <> excluded.token"
    let failed = "(\(others) AND j.token = ANY ($7::bigint[]))"
    let ahead = "(\(others) AND j.written_at > excluded.written_at + \(Self.tolerance))"
    let expired = """
      (\(others) AND NOT \(failed) AND NOT \(ahead) AND j.lease_until <= least(excluded.written_at, $8::bigint))
      """
    let isFree = "(j.state = 0 OR \(failed) OR \(expired))"
    claim = """
      INSERT INTO ledger_job AS j (key, state, token, lane, lease_until, unknown_calls, written_at, keep_until,
        abandoned_lane)
      SELECT c.key, 1, c.token, c.lane, t.now + c.lease, c.calls, t.now, t.now + c.keep,
        CASE WHEN c.calls > 0 THEN '' END
      FROM unnest($1::bytea[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
        AS c (key, token, lane, lease, calls, keep), (SELECT \(clock) AS now) AS t
      ON CONFLICT (key) DO UPDATE SET
        state = CASE WHEN j.state = 0 THEN 1 ELSE j.state END,
        token = CASE WHEN \(isFree) THEN excluded.token ELSE j.token END,
        lane = CASE WHEN \(isFree) THEN excluded.lane ELSE j.lane END,
        lease_until = CASE WHEN \(isFree) THEN excluded.lease_until
          WHEN \(ahead) THEN excluded.written_at + (j.lease_until - j.written_at) ELSE j.lease_until END,
        unknown_calls = CASE WHEN \(expired) THEN j.unknown_calls + 1 ELSE j.unknown_calls END,
        written_at = CASE WHEN \(isFree) OR \(ahead) THEN excluded.written_at ELSE j.written_at END,
        keep_until = CASE WHEN \(isFree) THEN excluded.keep_until ELSE j.keep_until END,
        abandoned_lane = CASE WHEN \(expired) THEN j.lane WHEN j.state = 0 THEN NULL ELSE j.abandoned_lane END
      RETURNING key, result, state, token, lease_until, unknown_calls, abandoned_lane, \(clock)
      """
    // An index leads by `keep_until`; while the column stays as it is, the update needs no entry in any index.
    settle = """
      INSERT INTO ledger_job AS j (key, state, token, lane, lease_until, unknown_calls, written_at, keep_until, result,
        match_key, correlation_id)
      SELECT c.key, 2, 0, '', 0, 0, t.now, t.now + c.keep, c.result, c.match_key, c.correlation_id
      FROM unnest($1::bytea[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[])
        AS c (key, keep, result, match_key, correlation_id), (SELECT \(clock) AS now) AS t
      ON CONFLICT (key) DO UPDATE SET state = 2, token = 0, lane = '', lease_until = 0, abandoned_lane = NULL,
        written_at = CASE WHEN j.state = 2 THEN j.written_at ELSE excluded.written_at END,
        result = CASE WHEN j.state = 2 THEN j.result ELSE excluded.result END,
        match_key = CASE WHEN j.state = 2 THEN j.match_key ELSE excluded.match_key END,
        correlation_id = CASE WHEN j.state = 2 THEN j.correlation_id ELSE excluded.correlation_id END,
        keep_until = CASE WHEN j.state <> 2 AND excluded.keep_until > j.keep_until + 60000 THEN excluded.keep_until
          ELSE j.keep_until END
      RETURNING key, result
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

  static let lock = "SELECT 1 FROM ledger_job WHERE key = ANY ($1::bytea[]) ORDER BY key FOR UPDATE"

  /// Forgets released jobs without unknown calls, so that a retry leaves no trace.
  static let forget = """
    DELETE FROM ledger_job AS j USING unnest($1::bytea[], $2::bigint[]) AS c (key, token)
    WHERE j.key = c.key AND j.token = c.token AND j.state = 1 AND j.unknown_calls = 0
    """

  static let makeIdle = """
    UPDATE ledger_job AS j SET state = 0, unknown_calls = j.unknown_calls + c.calls
    FROM unnest($1::bytea[], $2::bigint[], $3::bigint[]) AS c (key, token, calls)
    WHERE j.key = c.key AND j.token = c.token AND j.state = 1
    """

  /// The newest job of that key: a provider may use an ID again one day.
  static let matched = """
    SELECT key, correlation_id FROM ledger_job WHERE match_key = $1 ORDER BY written_at DESC LIMIT 1
    """

  /// Ended jobs only: the ledger exists for begun ones, and for those that may have begun.
  static let forgetOldest = """
    DELETE FROM ledger_job WHERE key IN (
      SELECT key FROM ledger_job WHERE state = 2 ORDER BY keep_until LIMIT $1 FOR UPDATE SKIP LOCKED)
    """

  /// Statistics are lost in a crash of the server. Until the next analysis the catalog's estimate has to do.
  static let size = """
    SELECT pg_total_relation_size('ledger_job'),
      coalesce((SELECT CASE WHEN n_live_tup + n_dead_tup > 0 THEN n_live_tup END FROM pg_stat_user_tables
        WHERE relid = 'ledger_job'::regclass), (SELECT greatest(reltuples, 0)::bigint FROM pg_class
        WHERE oid = 'ledger_job'::regclass), 0)::bigint,
      coalesce((SELECT avg(pg_column_size(sample.*))::bigint FROM (SELECT * FROM ledger_job LIMIT 200) AS sample), 0),
      (SELECT written_at FROM ledger_job ORDER BY keep_until LIMIT 1)
    """
}
