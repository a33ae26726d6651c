import Glibc

/// The environment of this process, in which libpq looks for what it was not told.
///
/// A host, a service file or a password from there would take the place of the configuration's. Not all of them can be
/// overruled: an empty setting counts as none, and `PGSERVICE` is looked at in any case (fe-connect.c,
/// parseServiceInfo). So they are removed.
enum ProcessEnvironment {
  /// Variables that libpq 12 to 17 reads (its documentation, section 34.15).
  private static let variables = [
    "PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSWORD", "PGPASSFILE", "PGREQUIREAUTH",
    "PGCHANNELBINDING", "PGSERVICE", "PGSERVICEFILE", "PGOPTIONS", "PGAPPNAME", "PGSSLMODE", "PGREQUIRESSL",
    "PGSSLNEGOTIATION", "PGSSLCOMPRESSION", "PGSSLCERT", "PGSSLKEY", "PGSSLCERTMODE", "PGSSLROOTCERT", "PGSSLCRL",
    "PGSSLCRLDIR", "PGSSLSNI", "PGREQUIREPEER", "PGSSLMINPROTOCOLVERSION", "PGSSLMAXPROTOCOLVERSION", "PGGSSENCMODE",
    "PGKRBSRVNAME", "PGGSSLIB", "PGGSSDELEGATION", "PGCONNECT_TIMEOUT", "PGCLIENTENCODING", "PGTARGETSESSIONATTRS",
    "PGLOADBALANCEHOSTS", "PGDATESTYLE", "PGTZ", "PGGEQO", "PGSYSCONFDIR", "PGLOCALEDIR",
  ]

  /// In glibc a concurrent getenv(3) stays safe: nothing is freed.
  static func forgetSettings() {
    for name in variables where getenv(name) != nil { unsetenv(name) }
  }
}
