import CountersignEncoding

extension BrokerObject {
  func difference(from objects: [BrokerObject]) -> TopologyDifference? {
    guard let found = objects.first(where: isSame) else { return TopologyDifference(missing, remedy: declaration) }
    // Arguments of bindings mean nothing to direct and topic exchanges.
    let wrong = kind == .bindings ? [] : Self.differences(members, found.members.filter { members[$0.key] != nil })
    guard !wrong.isEmpty else { return nil }
    return TopologyDifference("\(title): \(wrong.joined(separator: ", "))", remedy: replacement ?? declaration)
  }

  private static func differences(_ declared: [String: JSONValue], _ found: [String: JSONValue]) -> [String] {
    Set(declared.keys).union(found.keys).sorted().flatMap { name -> [String] in
      let (expected, actual) = (declared[name], found[name])
      // No members are an empty array: Erlang does not distinguish it from an empty object.
      if let inner = expected?.members { return differences(inner, actual?.members ?? [:]) }
      return expected == actual ? [] : ["\(name) is \(shown(actual)) instead of \(shown(expected))"]
    }
  }

  private static func shown(_ value: JSONValue?) -> String { value.map { $0.text ?? $0.json() } ?? "not set" }

  private var title: String {
    switch kind {
    case .policies: "policy \(name)"
    case .exchanges: "exchange \(name)"
    case .queues: "queue \(name)"
    case .bindings: "binding of queue \(self["destination"]) to \(self["source"]) under \"\(self["routing_key"])\""
    case .permissions: "rights of user \(self["user"])"
    case .topicPermissions: "rights of user \(self["user"]) to routing keys of \(self["exchange"])"
    }
  }

  private var missing: String {
    switch kind {
    case .policies, .exchanges, .queues: "\(title) is missing"
    case .bindings: "queue \(self["destination"]) is not bound to \(self["source"]) under \"\(self["routing_key"])\""
    case .permissions, .topicPermissions: "\(title) are missing"
    }
  }

  /// `nil` if the object can be changed.
  private var replacement: TopologyDifference.Remedy? {
    switch kind {
    case .exchanges:
      .byHand("delete it while nothing publishes (rabbitmqctl eval or the management page), then apply again")
    case .queues: .byHand("type and arguments cannot be changed: empty the queue, delete it, then apply again")
    case .policies, .bindings, .permissions, .topicPermissions: nil
    }
  }

  private var declaration: TopologyDifference.Remedy { .apply([write], deed: "declared \(title)") }

  var write: ManagementWrite {
    let body = members.filter { !["name", "user", "source", "destination", "destination_type"].contains($0.key) }
    return switch kind {
    case .bindings:
      ManagementWrite([kind.rawValue, "e", self["source"], "q", self["destination"]], body, method: "POST")
    case .policies, .exchanges, .queues: ManagementWrite([kind.rawValue, name], body)
    case .permissions, .topicPermissions: ManagementWrite([kind.rawValue, self["user"]], body)
    }
  }
}
