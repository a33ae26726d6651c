import CountersignMessages
import CountersignTelemetry
import Projects

/// Consents of users, a call of our own: Google has none.
struct ConsentCalls: Sendable {
  let backend: Backend

  var routes: [Route] {
    [
      Route(
        "recordConsent", .post, ["\(HostPrefix.identity)/v1/accounts:recordConsent"], access: .apiKey,
        waitsFor: .accounts, record),
      .administrators("revokeConsent", .post, "/accounts:recordConsent", old: nil, revoke),
    ]
  }

  private func record(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    try call.body.checkTenant()
    let exchange = backend.exchange(RecordConsent.self)
    var command = RecordConsent(project: try call.project().id)
    command.idToken = try exchange.seal(try call.body.requiredIDToken())
    command.consents = try Consent.given(in: call.body)
    command.revokedPurposes = try call.body.texts("revokePurposes")
    return try await Self.answer(exchange.ask(command))
  }

  /// Consents are the user's to give.
  private func revoke(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    if call.body.has("idToken") { throw .account("UNEXPECTED_PARAMETER", "ID token") }
    if call.body.has("consents") { throw .account("UNEXPECTED_PARAMETER", "Consents") }
    let exchange = backend.exchange(RecordConsent.self)
    var command = RecordConsent(project: try call.project().id)
    let localID = try call.body.word("localId", else: "USER_NOT_FOUND", missing: "MISSING_LOCAL_ID")
    command.localID = localID
    command.bearer = try exchange.seal(ifAny: call.bearer)
    command.revokedPurposes = try call.body.texts("revokePurposes")
    return try await Self.answer(exchange.ask(command))
  }

  private static func answer(_ reply: ConsentsRecorded) -> CallAnswer {
    var answer = CallAnswer()
    answer.put("consents", objects: reply.consents.map(\.entry), evenIfEmpty: true)
    return answer
  }
}

extension Consent {
  fileprivate static func given(in body: CallBody) throws(ProtocolError) -> [Consent] {
    var consents: [Consent] = []
    for (index, fields) in try body.objects("consents").enumerated() {
      let place = "consents[\(index)]"
      guard let purpose = try fields.text("purpose") else { throw .badField("\(place).purpose", expected: "text") }
      guard let version = try fields.text("textVersion") else {
        throw .badField("\(place).textVersion", expected: "text")
      }
      guard let givenAt = try fields.text("givenAt").flatMap(UnixTime.init(rfc3339:)) else {
        throw .badField("\(place).givenAt", expected: "a time as RFC 3339 has it")
      }
      consents.append(
        Consent(purpose: purpose, textVersion: version, data: try fields.texts("data"), givenAt: givenAt))
    }
    return consents
  }
}

extension ConsentView {
  var entry: CallAnswer {
    var entry = CallAnswer()
    entry.put("purpose", purpose)
    entry.put("textVersion", textVersion)
    entry.put("data", texts: data)
    entry.put("givenAt", givenAt.rfc3339)
    entry.put("recordedAt", recordedAt.rfc3339)
    entry.put("revokedAt", revokedAt?.rfc3339)
    return entry
  }
}
