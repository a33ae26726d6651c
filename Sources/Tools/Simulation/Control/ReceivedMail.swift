import CountersignEncoding
import CountersignTelemetry

/// A mail as plain text, of which the mail server has told.
struct ReceivedMail: Sendable {
  let to: String
  let body: String
  let receivedAt: UnixTime

  var json: String {
    "{\"to\":\(JSONString.quote(to)),\"body\":\(JSONString.quote(body)),\"receivedAt\":\"\(receivedAt.rfc3339)\"}"
  }
}

/// Body of `POST /control/mails`.
struct MailOrder: ControlOrder, Sendable {
  static let fields: Set<String> = ["to", "body"]

  let to: String
  let body: String

  func check() throws(ControlProblem) {
    try Self.require(to.utf8.count, in: 1...320, "the length of to")
  }
}
