import Dispatch

/// Certificates of PostgreSQL servers.
public enum PostgreSQLCertificate {
  /// End of the validity of the certificate of a server, without a judgment of who issued it and without a login.
  ///
  /// - Parameters:
  ///   - address: one of the endpoint's servers.
  ///   - endpoint: its user is told to the server, its password is not.
  ///   - timeout: time for connection and handshake.
  /// - Returns: seconds since 1970; `nil` without a handshake.
  public static func end(
    of address: ServerAddress, _ endpoint: PostgreSQLEndpoint, timeout: Duration
  ) async -> Int64? {
    var options = PostgreSQLOptions()
    options.connectTimeout = timeout
    // libpq blocks here, so it runs outside the cooperative pool.
    return await withCheckedContinuation { [options] continuation in
      DispatchQueue.global().async {
        continuation.resume(
          returning: ServerLink.certificateEnd(endpoint, of: address, options: options, closing: Closing()))
      }
    }
  }
}
