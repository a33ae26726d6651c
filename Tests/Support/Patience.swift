package import HTTPClient
package import PostgreSQL

extension Duration {
  /// Wait for what must come, however busy the machine is. Only a test that fails takes so long.
  package static let patience = Duration.seconds(240)
}

extension HTTPTimeouts {
  /// Time-outs of requests whose time is not what is tested.
  package static let patient = HTTPTimeouts(connect: .patience, total: .patience)
}

extension PostgreSQLOptions {
  /// Limits that a busy machine does not reach.
  package static var patient: PostgreSQLOptions {
    var options = PostgreSQLOptions()
    options.connectTimeout = .patience
    options.statementTimeout = .patience
    options.lockTimeout = .patience
    options.idleInTransactionTimeout = .patience
    options.runTimeout = .patience
    return options
  }
}

/// Reason that a test ends: a condition never held.
package struct NeverHappened: Error, CustomStringConvertible {
  package let description: String

  package init(description: String) { self.description = description }
}

/// Asks again and again whether a condition holds. What takes longer than a moment leaves the threads to other tasks.
package func eventually(
  _ what: String = "the condition", _ condition: () async throws -> Bool
) async throws {
  let end = ContinuousClock.now + .patience
  var looks = 0
  while try await !condition() {
    guard ContinuousClock.now < end else { throw NeverHappened(description: "\(what) never came true") }
    looks += 1
    if looks < 100 { await Task.yield() } else { try await Task.sleep(for: .milliseconds(2)) }
  }
}

/// The error of an operation as text. Empty if it has none.
package func problem<T>(_ operation: () throws -> T) -> String {
  do {
    _ = try operation()
    return ""
  } catch {
    return "\(error)"
  }
}
