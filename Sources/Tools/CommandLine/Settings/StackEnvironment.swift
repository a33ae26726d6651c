internal import FoundationEssentials

/// The addresses of the development stack, from the file that `deploy/up` writes.
///
/// The file holds addresses with their passwords, and it is found in the current directory, which may belong to somebody
/// else. So it is taken whole or not at all: never beside an option, a variable or a configuration file, since a password
/// belongs to the host that it was configured with.
enum StackEnvironment {
  /// The assignments of a file, or the reason why it is left alone.
  enum Outcome: Equatable {
    case absent
    case ignored(String)
    case taken([String: String])
  }

  static let path = ".run/stack.env"

  /// Beginnings of the variables that say where an installation is, as ``OperatorConfiguration`` reads them.
  private static let addressPrefixes = [
    "COUNTERSIGN_AMQP_", "COUNTERSIGN_OPERATOR_", "COUNTERSIGN_MANAGEMENT_", "COUNTERSIGN_COORDINATOR_",
    "COUNTERSIGN_SMS_WORKER_", "COUNTERSIGN_PUSH_WORKER_", "COUNTERSIGN_REVOCATION_WORKER_",
    "COUNTERSIGN_MAIL_WORKER_", "COUNTERSIGN_CONFIG_",
  ]

  /// Whether the variables of the process name an installation already.
  static func isNamed(by environment: [String: String]) -> Bool {
    environment.keys.contains { name in addressPrefixes.contains { name.hasPrefix($0) } }
  }

  /// The assignments of the file at a path, when the caller alone can have written them.
  static func read(_ path: String = path) -> Outcome {
    guard let facts = FileFacts(path) else { return .absent }
    guard facts.isOwnedByCaller else { return .ignored("it belongs to another user") }
    guard !facts.isWritableByOthers else { return .ignored("other users may write to it (chmod 600 \(path))") }
    // A file that cannot be read says nothing, as one that is not there.
    guard let data = try? Data(contentsOf: URL(filePath: path)) else { return .absent }
    return .taken(EnvironmentFile.parse(String(decoding: data, as: UTF8.self)))
  }
}
