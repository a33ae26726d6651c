internal import CountersignMessages

/// Waits for what becomes of an operation, for somebody at a terminal.
struct OperationWatch {
  let backend: any OperatorBackend
  /// Waits between two looks.
  var pause: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

  /// How often it looks.
  static let interval = Duration.milliseconds(500)

  /// Looks until something is known, or the time is over.
  /// - Parameters:
  ///   - id: the operation.
  ///   - time: how long to wait in all.
  ///   - timeout: how long to wait for one answer.
  ///   - isDone: whether enough is known.
  /// - Returns: what was known last.
  func wait(
    for id: String, within time: Duration, timeout: Duration, until isDone: (OperationStatus) -> Bool
  ) async throws -> OperationStatus {
    var left = time
    while true {
      let status = try await backend.send(GetOperationStatus(operationID: id), timeout: timeout)
      guard !isDone(status), left > .zero else { return status }
      try await pause(Self.interval)
      left -= Self.interval
    }
  }
}
