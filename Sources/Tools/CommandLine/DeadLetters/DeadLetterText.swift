import CountersignAMQP
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Possible secrets and personal data are covered unless the caller asks for them.
enum DeadLetterText {
  static func list(_ outcome: DeadLetters.Outcome) -> CommandOutput {
    var table = TextTable("ID", "QUEUE", "TYPE", "REASON", "DIED AT", "ATTEMPTS", "REDRIVES", "ERROR")
    table.rows = outcome.letters.map { letter in
      [
        letter.id, letter.queue, letter.message.type ?? "-", letter.reason, letter.diedAt?.rfc3339 ?? "-",
        "\(letter.attempts)",
        "\(letter.redrives)", short(letter.error ?? ""),
      ]
    }
    let text = outcome.letters.isEmpty ? "no dead letter matches" : table.text
    return CommandOutput(
      text: text + unseen(outcome), json: .object(counts(outcome, letters: outcome.letters.map(summary))))
  }

  static func done(_ what: String, _ outcome: DeadLetters.Outcome, redriveID: String?) -> CommandOutput {
    var lines = outcome.letters.map { TerminalText.line("\($0.id)  \($0.reason)") }
    lines.append("\(outcome.letters.count) \(what)" + (redriveID.map { " (redrive \($0))" } ?? ""))
    if !outcome.worn.isEmpty {
      lines.append("\(outcome.worn.count) left: redriven \(DeadLetter.maxRedrives) times already")
    }
    var json = counts(outcome, letters: outcome.letters.map { .text($0.id) })
    json["redriveID"] = redriveID.map(JSONValue.text)
    json["worn"] = .array(outcome.worn.map { .text($0.id) })
    return CommandOutput(text: lines.joined(separator: "\n") + unseen(outcome), json: .object(json))
  }

  static func show(_ letter: DeadLetter, reveal: Bool) -> CommandOutput {
    output(fields(letter).merging(parts(of: letter.message, reveal: reveal)) { $1 })
  }

  static func output(_ json: [String: JSONValue]) -> CommandOutput {
    CommandOutput(text: JSONValue.object(json).json(indented: true), json: .object(json))
  }

  /// Properties, headers and body of any message.
  static func parts(of message: Message, reveal: Bool) -> [String: JSONValue] {
    let headers = message.headers.mapValues { JSONValue($0) }.filter { reveal || knownHeaders.contains($0.key) }
    var json: [String: JSONValue] = [:]
    json["contentType"] = .optional(message.contentType)
    json["correlationID"] = .optional(message.correlationID)
    json["replyTo"] = .optional(message.replyTo)
    json["appID"] = .optional(message.appID)
    json["sentAt"] = .optional(message.timestamp.map { UnixTime(seconds: Int64(clamping: $0)).rfc3339 })
    json["headers"] = .object(headers)
    json["hiddenHeaders"] = .integer(Int64(message.headers.count - headers.count))
    json["bodyBytes"] = .integer(Int64(message.body.count))
    json["body"] =
      RedactedJSON.show(message.body, reveal: reveal)
      ?? (reveal ? .text(String(decoding: message.body, as: UTF8.self)) : .null)
    return json
  }

  private static let knownHeaders: Set<String> = [
    MessageHeader.attempt, MessageHeader.firstAttemptAt, MessageHeader.lastError, MessageHeader.nextAttemptAt,
    MessageHeader.traceparent, MessageHeader.causationID, MessageHeader.deadReason, MessageHeader.deadQueue,
    MessageHeader.deadAt,
    RedriveHeader.id, RedriveHeader.count, "x-death", "x-delivery-count", "x-first-death-exchange",
    "x-first-death-queue", "x-first-death-reason", "x-last-death-exchange", "x-last-death-queue",
    "x-last-death-reason",
  ]

  private static func summary(_ letter: DeadLetter) -> JSONValue { .object(fields(letter)) }

  private static func fields(_ letter: DeadLetter) -> [String: JSONValue] {
    [
      "id": .text(letter.id), "queue": .text(letter.queue), "type": .optional(letter.message.type),
      "reason": .text(letter.reason),
      "error": .optional(letter.error), "diedAt": .optional(letter.diedAt?.rfc3339),
      "attempts": .integer(Int64(letter.attempts)), "redrives": .integer(Int64(letter.redrives)),
    ]
  }

  private static func counts(_ outcome: DeadLetters.Outcome, letters: [JSONValue]) -> [String: JSONValue] {
    [
      "letters": .array(letters), "scanned": .integer(Int64(outcome.scanned)),
      "notLookedAt": .integer(Int64(outcome.unseen)),
    ]
  }

  private static func unseen(_ outcome: DeadLetters.Outcome) -> String {
    outcome.unseen == 0 ? "" : "\n\(outcome.unseen) more were not looked at: the limit was reached"
  }

  static func short(_ text: String) -> String {
    text.count <= 60 ? text : "\(text.prefix(59))…"
  }
}
