import Synchronization

/// Fictional numbers of the apps, which may change while the process runs.
final class FictionalNumbers: Sendable {
  /// Fixed codes by app and number in E.164.
  typealias Table = [String: [String: String]]

  private let current: Mutex<Table>

  init(_ rules: CoordinatorRules) {
    current = Mutex(Self.table(rules))
  }

  /// The fixed code of a number; `nil` for a real number.
  func code(of number: String, app: String) -> String? {
    current.withLock { $0[app]?[number] }
  }

  /// Applies the numbers of a reloaded configuration. New apps stay unknown until a restart.
  /// - Returns: whether they differ.
  func take(_ rules: CoordinatorRules) -> Bool {
    let new = Self.table(rules)
    return current.withLock { current in
      defer { current = new }
      return current != new
    }
  }

  private static func table(_ rules: CoordinatorRules) -> Table {
    rules.apps.compactMapValues { $0.fictionalNumbers.isEmpty ? nil : $0.fictionalNumbers }
  }
}
