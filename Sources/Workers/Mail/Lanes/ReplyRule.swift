import HTTPClient
import JobEngine

/// One row of the table that says what a server's replies mean. Every condition that a row has must hold.
struct ReplyRule: KeyedPart, Sendable, Hashable {
  /// What a reply means.
  enum Class: String, Decodable, Sendable { case refused, otherLane, retry, laneDown }

  /// Where it was said: names of `SMTPStage`; anywhere if absent.
  let stages: [String]?
  /// Codes, `550`, or their beginnings, `5`.
  let codes: [String]?
  /// Enhanced codes without their class, `1.1`, or their beginnings, `7.`.
  let enhanced: [String]?
  /// One of these is in the text, in lower case and with one space between words.
  let texts: [String]?

  let `class`: Class
  /// A word of this system, such as `RECIPIENT_GONE`.
  let reason: String
  /// One sentence for people.
  let detail: String
  /// Whether nothing is sent to the recipient any more.
  let suppress: Bool?
  /// When it is tried again, if the reply does not say.
  let delaySeconds: Int?
  /// Whether the table's row takes the lane down, and this one does not: in no file.
  var isDowngraded = false

  static let keys = CodingKeys.allCases.map(\.rawValue)

  enum CodingKeys: String, CodingKey, CaseIterable {
    case stages, codes, enhanced, texts, `class`, reason, detail, suppress, delaySeconds
  }

  /// Of a row that takes the lane down: the same about this mail alone. What a server says for now may be over the next time, as when its
  /// DNS did not answer; what it says for good is for another lane.
  func ofOneMail(isPermanent: Bool) -> ReplyRule {
    ReplyRule(
      stages: stages, codes: codes, enhanced: enhanced, texts: texts, class: isPermanent ? .otherLane : .retry,
      reason: reason, detail: detail, suppress: suppress, delaySeconds: delaySeconds, isDowngraded: true)
  }

  func fits(_ stage: SMTPStage, _ reply: SMTPReply, lowerText: String) -> Bool {
    if let stages, !stages.contains(stage.rawValue) { return false }
    if let codes, !codes.contains(where: { "\(reply.code)".hasPrefix($0) }) { return false }
    if let enhanced {
      // `5.1.1` without its class, which is that of the code.
      guard let subject = reply.enhancedCode?.dropFirst(2) else { return false }
      guard enhanced.contains(where: { $0.hasSuffix(".") ? subject.hasPrefix($0) : subject == $0 }) else {
        return false
      }
    }
    if let texts, !texts.contains(where: lowerText.contains) { return false }
    return true
  }
}
