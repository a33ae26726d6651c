import CountersignEncoding
import CountersignMessages
import ServiceRuntime

/// Kind of a broker user for a service. The raw value is also the name of the topology's own user of that kind.
enum ServiceKind: String, CaseIterable, Sendable {
  /// Sends commands.
  case service
  /// Sends commands and jobs.
  case sender

  func user(_ name: String) -> UserDeclaration {
    switch self {
    case .service: .service(name)
    case .sender: .sender(name)
    }
  }

  /// Leaves room for the rest of a queue's name, which AMQP limits to 255 bytes.
  private static let maxNameBytes = 64

  /// Throws if a name cannot be that of a service's user, apart from names of the topology.
  static func requireName(_ name: String) throws(CommandLineError) {
    guard name.isMatched(by: { $0.isLetterOrDigit || $0 == "-" || $0 == "_" }, length: 1...maxNameBytes) else {
      throw CommandLineError(
        .usage,
        "a user's name has 1 to \(maxNameBytes) letters, digits, hyphens and underscores: no dot, because it ends the name in countersign.reply.NAME.…"
      )
    }
  }
}
