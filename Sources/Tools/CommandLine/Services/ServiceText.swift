import CountersignEncoding
import CountersignMessages
import ServiceRuntime

/// Settings of a service, for the one who configures it.
struct ServiceText {
  enum Password {
    case printed(String)
    case file(String)
    /// The user had one, which cannot be read back.
    case kept
  }

  let user: ServiceUser
  let url: String
  /// Virtual hosts beside this one in which the user has rights.
  var otherHosts: [String] = []

  func done(_ changes: [TopologyDifference], _ password: Password) -> CommandOutput {
    let deeds = changes.compactMap { change in
      change.writes.first?.path.first == "users"
        ? "added user \(user.name) with the rights of \(user.kind.rawValue)" : change.deed
    }
    var json = fields
    json["changes"] = .array(deeds.map(JSONValue.text))
    if !otherHosts.isEmpty { json["otherVirtualHosts"] = .array(otherHosts.map(JSONValue.text)) }
    let shown: String
    switch password {
    case .printed(let text):
      shown = "\(text)   (shown this once)"
      json["password"] = .text(text)
    case .file(let path):
      shown = "in \(path)"
      json["passwordFile"] = .text(path)
    case .kept: shown = "unchanged; --new-password sets another one"
    }
    let head = deeds.isEmpty ? ["user \(user.name) is complete"] : deeds
    return CommandOutput(text: lines(head, password: shown), json: .object(json))
  }

  /// Commands that make the user, for an administrator of the broker.
  func forAdministrator(_ changes: [TopologyDifference], in virtualHost: String) -> CommandOutput {
    let commands = RabbitMQCtl.lines(for: user.declaration, in: virtualHost)
    let reason =
      "RabbitMQ lets administrators alone make users, and the management API's user is none: run these on its machine"
    var json = fields
    json["changes"] = .array(changes.compactMap(\.deed).map(JSONValue.text))
    json["note"] = .text(reason)
    json["commands"] = .array(commands.map(JSONValue.text))
    return CommandOutput(
      text: lines(changes.compactMap(\.deed) + [reason] + commands.map { "  \($0)" }, password: "the one you choose"),
      json: .object(json), exitCode: .noPermission)
  }

  private var fields: [String: JSONValue] {
    [
      "user": .text(user.name), "rights": .text(user.kind.rawValue), "url": .text(url),
      "replyPrefix": .text(Topology.Queues.ownPrefix(of: user.name)),
      "eventQueue": user.keepsEvents ? .text(user.eventQueue) : .null,
    ]
  }

  private func lines(_ head: [String], password: String) -> String {
    var settings = [
      ("password", password), ("URL", url),
      ("replies", "amq.rabbitmq.reply-to, or a queue named \(Topology.Queues.ownPrefix(of: user.name))…"),
    ]
    if user.keepsEvents {
      settings += [
        ("events", "\(user.eventQueue): consume it without declaring it"),
        ("binding", "once, to \(Topology.Exchanges.events) under the events you want, such as verification.*"),
      ]
    }
    if !otherHosts.isEmpty {
      settings.append(("also in", "\(otherHosts.joined(separator: ", ")), with the same password"))
    }
    let width = settings.map(\.0.count).max() ?? 0
    return
      (head + [""]
      + settings.map { name, value in
        name + String(repeating: " ", count: width + 2 - name.count) + value
      }).joined(separator: "\n")
  }
}
