internal import CountersignMessages
internal import ServiceRuntime

/// `countersign topology user`.
enum TopologyUserCommand {
  static func run(_ arguments: CommandArguments) throws -> CommandOutput {
    let user = try user(try arguments.operand("NAME"), like: arguments.value("like"))
    let lines = RabbitMQCtl.lines(for: user, in: arguments.value("vhost") ?? "/")
    return CommandOutput(
      text: lines.joined(separator: "\n"), json: .object(["commands": .array(lines.map(JSONValue.text))]))
  }

  private static func user(_ name: String, like model: String?) throws(OperationsError) -> UserDeclaration {
    let declared = UserDeclaration.countersign.first { $0.name == name }
    guard let model else {
      if let declared { return declared }
      throw OperationsError(
        .usage, "there is no user \(name) in the topology: for one of your own, give --like service")
    }
    guard declared == nil else {
      throw OperationsError(.usage, "\(name) is a user of the topology itself: leave --like out")
    }
    guard isName(name) else {
      throw OperationsError(
        .usage,
        "a user's name has 1 to \(maxNameBytes) letters, digits, hyphens and underscores: no dot, because it ends the name in countersign.reply.NAME.…"
      )
    }
    switch model {
    case Topology.Users.service: return .service(name)
    case Topology.Users.sender: return .sender(name)
    default: throw OperationsError(.usage, "--like takes service or sender")
    }
  }

  /// Room for the rest of a queue's name, which AMQP bounds at 255 bytes.
  private static let maxNameBytes = 64

  private static func isName(_ name: String) -> Bool {
    (1...maxNameBytes).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }
}
