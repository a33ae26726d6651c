import CurlTransport
import FoundationEssentials
import GuardedJSON
import WorkerRuntime

/// What a server's replies mean for a job: the first row that fits. Data, read from `Config/providers/smtp.json5`.
struct ReplyTable: Sendable {
  private let rules: [ReplyRule]

  /// A file larger than this is no table.
  private static let maxFileBytes = 1024 * 1024

  private struct File: KeyedPart {
    let rules: [Strict<ReplyRule>]

    static let keys = ["rules"]
  }

  init(_ rules: [ReplyRule]) {
    self.rules = rules
  }

  /// Reads a table from a JSON5 file.
  init(file path: String) throws(RelayMailError) {
    let data: Data
    do { data = try DataFile.read(path, maxBytes: Self.maxFileBytes) } catch {
      throw RelayMailError(.invalidTable, error.message)
    }
    do {
      rules = try JSONReader(maxBytes: Self.maxFileBytes, syntax: .json5).decode(Strict<File>.self, from: data)
        .part.rules.map(\.part)
    } catch {
      throw RelayMailError(.invalidTable, "\(path): \(DecodingText.describe(error))")
    }
    guard !rules.isEmpty else {
      throw RelayMailError(
        .invalidTable, "\(path): rules is empty: the table that is shipped shows what belongs there")
    }
    for (index, rule) in rules.enumerated() {
      if let problem = Self.problem(rule) {
        throw RelayMailError(.invalidTable, "\(path): rules[\(index)].\(problem)")
      }
    }
  }

  private static func problem(_ rule: ReplyRule) -> String? {
    let stages = SMTPStage.allCases.map(\.rawValue)
    if rule.stages?.allSatisfy(stages.contains) == false {
      return "stages must be of \(stages.joined(separator: ", "))"
    }
    let isCode = { (text: String) in
      (1...3).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
    if rule.codes?.allSatisfy(isCode) == false { return "codes must be one to three digits" }
    if rule.texts?.allSatisfy({ $0 == $0.lowercased() }) == false { return "texts must be in lower case" }
    if let delay = rule.delaySeconds, !(1...86_400).contains(delay) { return "delaySeconds must be 1 to 86400" }
    return nil
  }

  /// The row of a reply that is no success; for a table without one, its class by the first digit.
  func rule(_ stage: SMTPStage, _ reply: SMTPReply) -> ReplyRule {
    // Servers break their sentences into lines wherever they like.
    let text = reply.text.lowercased().split(whereSeparator: \.isWhitespace).joined(separator: " ")
    return rules.first { $0.fits(stage, reply, lowerText: text) } ?? Self.fallback(reply)
  }

  private static func fallback(_ reply: SMTPReply) -> ReplyRule {
    let isPermanent = reply.code / 100 == 5
    return ReplyRule(
      stages: nil, codes: nil, enhanced: nil, texts: nil, class: isPermanent ? .refused : .retry,
      reason: isPermanent ? "SERVER_REFUSED" : "SERVER_BUSY",
      detail: isPermanent ? "The mail server refused the message." : "The mail server does not take it now.",
      suppress: nil, delaySeconds: nil)
  }
}
