import CPostgreSQL
import CountersignTelemetry

extension ServerLink {
  /// No round trip.
  func encrypted(password: String, of role: String) throws(StoreError) -> String {
    guard let text = PQencryptPasswordConn(handle, password, role, "scram-sha-256") else {
      throw StoreError(.misuse, "libpq cannot hash a password")
    }
    defer { PQfreemem(text) }
    return String(cString: text)
  }
}
