import CountersignEncoding
import CountersignTelemetry
import HTTPServer

struct ControlAPI: Sendable {
  static let defaultLimit = 10_000

  let store: MessageStore
  let faults: FaultRegistry
  let receipts: ReceiptReporter
  let pushes: Journal<ReceivedPush>
  let devices: DeviceRegistry
  let recaptcha: RecaptchaTokens
  let accessTokens: IssuedTokens
  let grants: GrantStore
  let identities: IdentityControl
  let revocations: Journal<ReceivedRevocation>
  let mails: Journal<ReceivedMail>
  let clientIDs: Set<String>
  let clock: any WallClock

  func answer(_ request: HTTPServerRequest, _ parts: ArraySlice<Substring>) -> HTTPServerResponse {
    do throws(ControlProblem) {
      if parts.count == 2, parts.first == "faults", request.method == "DELETE" {
        return try clearFault(parts.last ?? "")
      }
      return try page(request, parts.joined(separator: "/"))
    } catch {
      return error.response
    }
  }

  private func page(_ request: HTTPServerRequest, _ path: String) throws(ControlProblem) -> HTTPServerResponse {
    let isPost = request.method == "POST"
    switch (request.method, path) {
    case ("GET", ""): return HTTPServerResponse(status: 200, text: SimulatorGuide.text)
    case ("GET", "sms"):
      let recipient = request.parameter("to").map(Self.number)
      return list(store.messages(to: recipient, limit: try limit(request)).map(\.json))
    case ("GET", "sms/summary"): return summary()
    case ("GET", "pushes"):
      let token = request.parameter("deviceToken").map { $0.lowercased() }
      return list(pushes.elements(of: token, limit: try limit(request)).map(\.json))
    case ("GET", "revocations"):
      let found = revocations.elements(of: request.parameter("token"), limit: try limit(request))
      let code = request.parameter("code")
      return list(found.filter { code == nil || $0.code == code }.map(\.json))
    case ("GET", "mails"):
      return list(mails.elements(of: request.parameter("to"), limit: try limit(request)).map(\.json))
    case ("GET", "authorizations"):
      return list(identities.seen.elements(of: request.parameter("state"), limit: try limit(request)).map(\.json))
    case ("GET", "google/tokens"): return .json(status: 200, "{\"given\":\(accessTokens.given)}")
    case ("GET", "faults"): return .json(status: 200, "[\(faults.all().map(\.json).joined(separator: ","))]")
    case ("POST", "faults"): return .json(status: 201, try faults.add(.read(request.body)).json)
    case ("POST", "devices"): return .json(status: 201, try devices.add(.read(request.body)))
    case ("POST", "apple/codes"):
      let code = try CodeOrder.read(request.body).code(clients: clientIDs, now: clock.now())
      grants.issue(code)
      return .json(status: 201, code.json)
    case ("POST", "mails"):
      let order = try MailOrder.read(request.body)
      mails.append(ReceivedMail(to: order.to, body: order.body, receivedAt: clock.now()), key: order.to)
    case ("POST", "receipts"): receipts.add(try .read(request.body))
    case ("POST", "recaptcha"): recaptcha.add(try .read(request.body))
    case ("POST", let path) where IdentityControl.paths.contains(path):
      return try identities.answer(path, request, now: clock.now())
    case ("DELETE", "sms"): store.clear()
    case ("DELETE", "pushes"): pushes.clear()
    case ("DELETE", "devices"): devices.clear()
    case ("DELETE", "mails"): mails.clear()
    case ("DELETE", "revocations"): revocations.clear()
    case ("DELETE", "identities"): identities.clear()
    case ("DELETE", "receipts"): receipts.clear()
    case ("DELETE", "recaptcha"): recaptcha.clear()
    case ("DELETE", "faults"): return .json(status: 200, "{\"cleared\":\(faults.clear())}")
    case ("DELETE", "google/tokens"): return .json(status: 200, "{\"revoked\":\(accessTokens.revokeAll())}")
    case (_, let path) where Self.paths.contains(path) || IdentityControl.paths.contains(path):
      throw ControlProblem(status: 405, "the method is not allowed here")
    default: throw ControlProblem(status: 404, "no such page; GET /control lists them")
    }
    return .json(status: isPost ? 201 : 200, "{}")
  }

  private static let paths: Set<String> = [
    "", "sms", "sms/summary", "pushes", "revocations", "mails", "google/tokens", "faults", "devices", "apple/codes",
    "receipts", "recaptcha", "authorizations", "identities",
  ]

  private func list(_ elements: [String]) -> HTTPServerResponse {
    .json(status: 200, "[\(elements.joined(separator: ",\n"))]\n")
  }

  private func limit(_ request: HTTPServerRequest) throws(ControlProblem) -> Int {
    guard let text = request.parameter("limit") else { return Self.defaultLimit }
    guard let number = Int(text), number > 0 else { throw ControlProblem("limit must be a number above 0") }
    return number
  }

  /// A `+` that was not percent-encoded arrives as a space, an omitted one not at all.
  private static func number(_ text: String) -> String {
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

  private func clearFault(_ id: Substring) throws(ControlProblem) -> HTTPServerResponse {
    guard let id = Int(id), faults.clear(id: id) == 1 else { throw ControlProblem(status: 404, "no such fault") }
    return .json(status: 200, "{\"cleared\":1}")
  }
}
