import CountersignEncoding
import ServiceRuntime

/// Command lines of rabbitmqctl for changes that the management API allows to administrators only.
enum RabbitMQCtl {
  /// The reader fills in the password.
  static func lines(for user: UserDeclaration, in virtualHost: String) -> [String] {
    ["rabbitmqctl add_user \(user.name) PASSWORD"] + (user.tags.isEmpty ? [] : [tags(of: user.name, user.tags)])
      + [permissions(of: user, in: virtualHost)] + user.topics.map { topic($0, of: user.name, in: virtualHost) }
      + limits(of: user)
  }

  static func tags(of name: String, _ tags: [String]) -> String {
    (["rabbitmqctl set_user_tags", quoted(name)] + tags.map(quoted)).joined(separator: " ")
  }

  static func clear(_ name: String, in virtualHost: String) -> String {
    "rabbitmqctl clear_permissions\(option(virtualHost)) \(quoted(name))"
  }

  static func clearTopics(of name: String, exchange: String, in virtualHost: String) -> String {
    "rabbitmqctl clear_topic_permissions\(option(virtualHost)) \(quoted(name)) \(quoted(exchange))"
  }

  private static func permissions(of user: UserDeclaration, in virtualHost: String) -> String {
    (["rabbitmqctl set_permissions\(option(virtualHost))", user.name]
      + [user.configure, user.write, user.read].map(quoted)).joined(separator: " ")
  }

  private static func topic(_ right: UserDeclaration.TopicRight, of name: String, in virtualHost: String) -> String {
    (["rabbitmqctl set_topic_permissions\(option(virtualHost))", name, right.exchange]
      + [right.write, right.read].map(quoted)).joined(separator: " ")
  }

  private static func limits(of user: UserDeclaration) -> [String] {
    if user.limits.isEmpty { return [] }
    let limits = JSONValue.object(user.limits.mapValues(JSONValue.integer))
    return ["rabbitmqctl set_user_limits \(user.name) '\(limits.json())'"]
  }

  private static func option(_ virtualHost: String) -> String {
    virtualHost == "/" ? "" : " --vhost \(quoted(virtualHost))"
  }

  private static func quoted(_ text: String) -> String {
    let isPlain =
      !text.isEmpty && text.unicodeScalars.allSatisfy { $0.isLetterOrDigit || "-._".unicodeScalars.contains($0) }
    return isPlain ? text : "'" + text.replacing("'", with: "'\\''") + "'"
  }
}
