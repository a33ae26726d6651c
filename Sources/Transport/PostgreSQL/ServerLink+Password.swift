import CPostgreSQL

extension ServerLink {
  /// No round trip.
  func encrypted(password: String, of role: String) throws(PostgreSQLError) -> String {
    guard let text = PQencryptPasswordConn(handle, password, role, "scram-sha-256") else {
      throw PostgreSQLError(.misuse, "libpq cannot hash a password")
    }
    defer { PQfreemem(text) }
    return String(cString: text)
  }
}
