import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import JobEngine
import ServiceRuntime

/// Body of a webhook:
///
/// ```json
/// {
///   "type": "sms.dispatch",
///   "timestamp": "2026-07-01T12:30:00Z",
///   "data": {
///     "id": "V1StGXR8.sms.1",
///     "to": "+14155550123",
///     "text": "482913 is your Example verification code.",
///     "from": "Example",
///     "languageCode": "en",
///     "encoding": "gsm7",
///     "segments": 1,
///     "deadline": "2026-07-01T12:35:00Z"
///   }
/// }
/// ```
///
/// `timestamp` is the start of this try, `encoding` is `gsm7` or `ucs2`, and `from` and `languageCode` may be missing.
/// `nationalShift` (`{"locking": 1, "single": 1}`, identifiers of 3GPP TS 23.038, one or both) is present if the text
/// has to be encoded with national language tables, which only a lane with `nationalShiftTables` asks for. After
/// `deadline` the message must not be sent. Receivers ignore unknown fields.
struct WebhookPayload: Encodable, Sendable {
  private let type = "sms.dispatch"
  private let timestamp: UnixTime
  private let data: Message

  private struct Message: Encodable {
    let id: String
    let to: String
    let text: String
    let from: String?
    let languageCode: String?
    let encoding: String
    let segments: Int
    let nationalShift: Shift?
    let deadline: UnixTime
  }

  private struct Shift: Encodable {
    let locking: UInt8?
    let single: UInt8?
  }

  private enum CodingKeys: String, CodingKey { case type, timestamp, data }

  init(_ message: OutgoingSMS, from: String?, _ attempt: JobAttempt) {
    timestamp = attempt.startedAt
    data = Message(
      id: attempt.jobID, to: message.to, text: message.text.text, from: from, languageCode: message.languageCode,
      encoding: message.text.encoding.rawValue, segments: message.text.segments,
      nationalShift: message.text.shift.map { Shift(locking: $0.locking?.rawValue, single: $0.single?.rawValue) },
      deadline: attempt.deadline)
  }

  // One for the process: it can be shared, and making one costs as much as writing a payload.
  private static let encoder: JSONEncoder = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    return encoder
  }()

  func json() throws -> [UInt8] {
    Array(try Self.encoder.encode(self))
  }
}

/// Optional body of a receiver's answer: `{"reference": "…"}`, its own ID of the message, which is used if it is a
/// short word.
enum WebhookAnswer {
  /// A longer one is left out: it would bloat the result, the ledger and the coordinator's rows.
  static let maxReferenceLength = 64

  private struct Body: Decodable { let reference: String? }

  static func reference(_ body: [UInt8]) -> String? {
    guard !body.isEmpty else { return nil }
    do {
      let reference = try JSONReader.answers.decode(Body.self, from: body).reference
      return reference.flatMap { isUsable($0) ? $0 : nil }
    } catch {
      // The status is enough; many receivers answer "ok".
      return nil
    }
  }

  /// It appears in results and logs, and free text of a receiver may repeat the code or the number.
  private static func isUsable(_ reference: String) -> Bool {
    reference.isMatched(
      by: { $0.isLetterOrDigit || "._:-".unicodeScalars.contains($0) }, length: 1...maxReferenceLength)
  }
}
