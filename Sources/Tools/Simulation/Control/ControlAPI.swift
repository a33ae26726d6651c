import CountersignEncoding
import HTTPServer

/// `/control`: shows received messages, and takes orders for faults.
struct ControlAPI: Sendable {
  /// Default number of messages in one answer.
  static let defaultLimit = 10_000

  let store: MessageStore
  let faults: FaultRegistry
  let receipts: ReceiptReporter
  let pushes: PushControl
  let recaptcha: RecaptchaControl
  let accessTokens: IssuedTokens
  let apple: AppleIDControl

  func answer(_ request: HTTPServerRequest, _ parts: ArraySlice<Substring>) -> HTTPServerResponse {
    do throws(ControlProblem) {
      return try page(request, Array(parts))
    } catch {
      return error.response
    }
  }

  private func page(_ request: HTTPServerRequest, _ parts: [Substring]) throws(ControlProblem) -> HTTPServerResponse {
    switch (request.method, parts.first) {
    case ("GET", nil): HTTPServerResponse(status: 200, text: SimulatorGuide.text)
    case (_, nil): throw .notAllowed
    case (_, "sms"): try messages(request, parts)
    case (_, "faults"): try faults(request, parts)
    case (_, "receipts"): try receipts(request, parts)
    case (_, "pushes"), (_, "devices"): try pushes.answer(request, parts)
    case (_, "recaptcha"): try recaptcha.answer(request, parts)
    case (_, "google"): try google(request, parts)
    case (_, "apple"), (_, "revocations"): try apple.answer(request, parts)
    default: throw .notFound
    }
  }

  private func messages(
    _ request: HTTPServerRequest, _ parts: [Substring]
  ) throws(ControlProblem) -> HTTPServerResponse {
    switch (request.method, parts) {
    case ("GET", ["sms"]): return try messages(request)
    case ("GET", ["sms", "summary"]): return summary()
    case ("DELETE", ["sms"]): store.clear()
    case (_, ["sms"]), (_, ["sms", "summary"]): throw .notAllowed
    default: throw .notFound
    }
    return .json(status: 200, "{}")
  }

  private func faults(_ request: HTTPServerRequest, _ parts: [Substring]) throws(ControlProblem) -> HTTPServerResponse {
    switch (request.method, parts) {
    case ("GET", ["faults"]): return .json(status: 200, "[\(faults.all().map(\.json).joined(separator: ","))]")
    case ("POST", ["faults"]): return .json(status: 201, try faults.add(request.body).json)
    case ("DELETE", ["faults"]): return .json(status: 200, "{\"cleared\":\(faults.clear())}")
    case ("DELETE", let parts) where parts.count == 2: return try clear(parts[1])
    case (_, ["faults"]): throw .notAllowed
    default: throw .notFound
    }
  }

  private func receipts(_ request: HTTPServerRequest, _ parts: [Substring]) throws(ControlProblem) -> HTTPServerResponse
  {
    switch (request.method, parts) {
    case ("POST", ["receipts"]): try receipts.add(request.body)
    case ("DELETE", ["receipts"]): receipts.clear()
    case (_, ["receipts"]): throw .notAllowed
    default: throw .notFound
    }
    return .json(status: request.method == "POST" ? 201 : 200, "{}")
  }

  private func google(_ request: HTTPServerRequest, _ parts: [Substring]) throws(ControlProblem) -> HTTPServerResponse {
    switch (request.method, parts) {
    case ("GET", ["google", "tokens"]): return .json(status: 200, "{\"given\":\(accessTokens.given)}")
    case ("DELETE", ["google", "tokens"]): return .json(status: 200, "{\"revoked\":\(accessTokens.revokeAll())}")
    case (_, ["google", "tokens"]): throw .notAllowed
    default: throw .notFound
    }
  }

  private func messages(_ request: HTTPServerRequest) throws(ControlProblem) -> HTTPServerResponse {
    let recipient = request.parameter("to").map(Self.number)
    let found = store.messages(to: recipient, limit: try Self.limit(request))
    return .json(status: 200, "[\(found.map(\.json).joined(separator: ",\n"))]\n")
  }

  /// Number of entries requested, the newest ones.
  static func limit(_ request: HTTPServerRequest) throws(ControlProblem) -> Int {
    guard let text = request.parameter("limit") else { return defaultLimit }
    guard let number = Int(text), number > 0 else { throw ControlProblem("limit must be a number above 0") }
    return number
  }

  /// Number from a query. A `+` that was not percent-encoded arrives as a space, an omitted one not at all.
  static func number(_ text: String) -> String {
    let trimmed = text.drop { $0 == " " }
    return trimmed.first?.isNumber == true ? "+\(trimmed)" : String(trimmed)
  }

  private func summary() -> HTTPServerResponse {
    let (counts, held, recipients) = store.summary()
    let received = counts.received.values.reduce(0, +)
    let byProvider = Provider.messaging.map { "\"\($0.rawValue)\":\(counts.received[$0] ?? 0)" }
    let refused = counts.refused.sorted { $0.key < $1.key }.map { "\(JSONString.quote($0.key)):\($0.value)" }
    return .json(
      status: 200,
      """
      {"received":\(received),"byProvider":{\(byProvider.joined(separator: ","))},"distinctRecipients":\(recipients),\
      "duplicates":\(counts.duplicates),"repeatedWebhooks":\(counts.repeatedWebhooks),\
      "refused":{\(refused.joined(separator: ","))},"held":\(held)}

      """)
  }

  private func clear(_ id: Substring) throws(ControlProblem) -> HTTPServerResponse {
    guard let id = Int(id), faults.clear(id: id) == 1 else {
      throw ControlProblem(status: 404, "no such fault")
    }
    return .json(status: 200, "{\"cleared\":1}")
  }
}
