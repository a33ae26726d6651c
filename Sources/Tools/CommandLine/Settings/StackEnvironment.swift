import FoundationEssentials

/// The file holds passwords and lies in the current directory, which may belong to another user. It is therefore used
/// as a whole or not at all, never mixed with an option, a variable or a configuration file.
enum StackEnvironment {
  enum Outcome: Equatable {
    case absent
    case ignored(String)
    case taken([String: String])
  }

  static let path = ".run/stack.env"

  /// As ``OperatorConfiguration`` reads them.
  private static let addressPrefixes = [
    "COUNTERSIGN_AMQP_", "COUNTERSIGN_OPERATOR_", "COUNTERSIGN_MANAGEMENT_", "COUNTERSIGN_COORDINATOR_",
    "COUNTERSIGN_SMS_WORKER_", "COUNTERSIGN_PUSH_WORKER_", "COUNTERSIGN_REVOCATION_WORKER_",
    "COUNTERSIGN_MAIL_WORKER_", "COUNTERSIGN_ACCOUNTS_", "COUNTERSIGN_GATEWAY_HEALTH_", "COUNTERSIGN_CONFIG_",
  ]

  static func isNamed(by environment: [String: String]) -> Bool {
    environment.keys.contains { name in addressPrefixes.contains { name.hasPrefix($0) } }
  }

  /// Provided that only the caller can have written it.
  static func read(_ path: String = path) -> Outcome {
    guard let facts = FileFacts(path) else { return .absent }
    guard facts.isOwnedByCaller else { return .ignored("it belongs to another user") }
    guard !facts.isWritableByOthers else { return .ignored("other users may write to it (chmod 600 \(path))") }
    // A file that cannot be read counts as absent.
    guard let data = try? Data(contentsOf: URL(filePath: path)) else { return .absent }
    return .taken(EnvironmentFile.parse(String(decoding: data, as: UTF8.self)))
  }
}

/// File of shell assignments, such as `.run/stack.env`: `export NAME=value` or `NAME='value'`, a line each.
enum EnvironmentFile {
  /// Without expansion. Other lines are skipped.
  static func parse(_ text: String) -> [String: String] {
    text.split(separator: "\n").reduce(into: [:]) { result, line in
      var line = line.drop { $0 == " " || $0 == "\t" }
      if line.hasPrefix("export ") { line = line.dropFirst(7).drop { $0 == " " } }
      guard let equals = line.firstIndex(of: "="), !line.hasPrefix("#") else { return }
      let name = line[..<equals]
      guard name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }) else { return }
      result[String(name)] = unquoted(line[line.index(after: equals)...])
    }
  }

  private static func unquoted(_ text: Substring) -> String {
    for quote in ["'", "\""] where text.count >= 2 && text.hasPrefix(quote) && text.hasSuffix(quote) {
      return String(text.dropFirst().dropLast())
    }
    return String(text)
  }
}
