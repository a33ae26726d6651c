/// Carries requests to the management API of the broker.
protocol ManagementTransport: Sendable {
  /// - Parameters:
  ///   - method: `GET`, `PUT`, `POST` or `DELETE`.
  ///   - path: from `/api/` on, percent-encoded.
  ///   - body: JSON.
  /// - Throws: when there is no answer; any status is one.
  func send(_ method: String, _ path: String, body: [UInt8]?) async throws(OperationsError) -> ManagementResponse
}

/// An answer of the management API.
struct ManagementResponse: Sendable {
  let status: Int
  let body: [UInt8]
  /// The header `date`.
  var date: String?
}
