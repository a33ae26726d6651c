import JobEngine
import SMTPClient

/// Every condition of a row must hold.
struct ReplyRule: KeyedPart, Sendable, Hashable {
  enum Class: String, Decodable, Sendable { case refused, otherLane, retry, laneDown }

  /// Stages of the reply: names of `SMTPStage`. Any if absent.
  let stages: [String]?
  /// Codes, `550`, or their beginnings, `5`.
  let codes: [String]?
  /// Enhanced codes without their class, `1.1`, or their beginnings, `7.`.
  let enhanced: [String]?
  /// Texts of which the reply has one, in lower case and with one space between words.
  let texts: [String]?

  let `class`: Class
  let reason: String
  let detail: String
  let suppress: Bool?
  /// If the reply does not state one.
  let delaySeconds: Int?
  /// Whether the table's row takes the lane down, and this copy does not. Never in a file.
  var isDowngraded = false

  static let keys = CodingKeys.allCases.map(\.rawValue)

  enum CodingKeys: String, CodingKey, CaseIterable {
    case stages, codes, enhanced, texts, `class`, reason, detail, suppress, delaySeconds
  }

  /// A row that takes the lane down, limited to one mail. A temporary reply may be gone the next time, as after a DNS
  /// failure; a permanent one is for another lane.
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

/// The retry delay in the text of a reply: `try again in 300 seconds`, `retry after 5 minutes`.
enum ReplyDelay {
  /// A longer one is cut.
  static let longest = Duration.seconds(86_400)

  static func parse(_ text: String) -> Duration? {
    let words = text.lowercased().split { " \n\t(),;".contains($0) }
    for index in words.indices.dropFirst() where words[index - 1] == "in" || words[index - 1] == "after" {
      guard let number = Int(words[index].prefix { $0.isASCII && $0.isNumber }), number > 0 else { continue }
      let unit = words[index].drop { $0.isASCII && $0.isNumber }
      let word = unit.isEmpty && index + 1 < words.endIndex ? words[index + 1] : unit
      guard let seconds = seconds(word) else { continue }
      let (total, overflow) = number.multipliedReportingOverflow(by: seconds)
      return overflow ? longest : min(.seconds(total), longest)
    }
    return nil
  }

  private static func seconds(_ unit: Substring) -> Int? {
    switch unit.first {
    case "s": 1
    case "m": unit.hasPrefix("mi") || unit == "m" || unit == "m." ? 60 : nil
    case "h": 3600
    default: nil
    }
  }
}
