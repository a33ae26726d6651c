/// Asks a web server whether it is there.
protocol HTTPProbe: Sendable {
  /// Reads a URL.
  /// - Throws: when there is no answer; any status is one. The text says why, and is safe to show.
  func get(_ url: String) async throws(OperationsError) -> HTTPProbeAnswer
}

/// What a web server answered.
struct HTTPProbeAnswer: Sendable {
  let status: Int
  let body: [UInt8]
  /// The header `date`.
  var date: String?
}
