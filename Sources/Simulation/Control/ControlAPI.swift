import HTTPServer

/// `/control`: shows what was received, and takes orders for faults.
struct ControlAPI: Sendable {
  /// Messages in one answer when no limit is given.
  static let defaultLimit = 10_000

  let store: MessageStore
  let faults: FaultRegistry

  func answer(_ request: HTTPServerRequest, _ parts: ArraySlice<Substring>) -> HTTPServerResponse {
    switch (request.method, Array(parts)) {
    case ("GET", []): HTTPServerResponse(status: 200, text: SimulatorGuide.text)
    case ("GET", ["sms"]): messages(request)
    case ("GET", ["sms", "summary"]): summary()
    case ("DELETE", ["sms"]): clearMessages()
    case ("GET", ["faults"]): .json(status: 200, "[\(faults.all().map(\.json).joined(separator: ","))]")
    case ("POST", ["faults"]): add(request.body)
    case ("DELETE", ["faults"]): .json(status: 200, "{\"cleared\":\(faults.clear())}")
    case ("DELETE", let parts) where parts.count == 2 && parts[0] == "faults": clear(parts[1])
    case (_, []), (_, ["sms"]), (_, ["sms", "summary"]), (_, ["faults"]):
      Self.problem(405, "the method is not allowed here")
    default: Self.problem(404, "there is no such page; GET /control says what there is")
    }
  }

  private func messages(_ request: HTTPServerRequest) -> HTTPServerResponse {
    var limit = Self.defaultLimit
    if let text = request.parameter("limit") {
      guard let number = Int(text), number > 0 else { return Self.problem(400, "limit must be a number above 0") }
      limit = number
    }
    let recipient = request.parameter("to").map(Self.number)
    let found = store.messages(to: recipient, limit: limit)
    return .json(status: 200, "[\(found.map(\.json).joined(separator: ",\n"))]\n")
  }

  /// A number from a query. A `+` that was not percent-encoded arrives as a space, one that was left out not at all.
  static func number(_ text: String) -> String {
    let trimmed = text.drop { $0 == " " }
    return trimmed.first?.isNumber == true ? "+\(trimmed)" : String(trimmed)
  }

  private func summary() -> HTTPServerResponse {
    let (counts, held, recipients) = store.summary()
    let received = counts.received.values.reduce(0, +)
    let byProvider = Provider.allCases.map { "\"\($0.rawValue)\":\(counts.received[$0] ?? 0)" }
    let refused = counts.refused.sorted { $0.key < $1.key }.map { "\(JSONText.quote($0.key)):\($0.value)" }
    return .json(
      status: 200,
      """
      {"received":\(received),"byProvider":{\(byProvider.joined(separator: ","))},"distinctRecipients":\(recipients),\
      "duplicates":\(counts.duplicates),"repeatedWebhooks":\(counts.repeatedWebhooks),\
      "refused":{\(refused.joined(separator: ","))},"held":\(held)}

      """)
  }

  private func clearMessages() -> HTTPServerResponse {
    store.clear()
    return .json(status: 200, "{}")
  }

  private func add(_ body: [UInt8]) -> HTTPServerResponse {
    do { return .json(status: 201, try faults.add(body).json) } catch { return Self.problem(400, error.text) }
  }

  private func clear(_ id: Substring) -> HTTPServerResponse {
    guard let id = Int(id), faults.clear(id: id) == 1 else { return Self.problem(404, "there is no such fault") }
    return .json(status: 200, "{\"cleared\":1}")
  }

  private static func problem(_ status: Int, _ text: String) -> HTTPServerResponse {
    .json(status: status, "{\"error\":\(JSONText.quote(text))}")
  }
}
