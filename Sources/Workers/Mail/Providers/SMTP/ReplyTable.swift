import CountersignEncoding
import FoundationEssentials
import JobEngine
import SMTPClient

/// The meaning of a server's replies for a job: the first row that fits. Data, read from `Config/providers/smtp.json5`.
struct ReplyTable: Sendable {
  private let rules: [ReplyRule]
  /// Domains in lower case whose servers are trusted in what they say about the sender.
  private let receivers: Set<String>

  static let file = "smtp.json5"

  private static let maxFileBytes = 1024 * 1024

  private struct File: KeyedPart {
    let rules: [Strict<ReplyRule>]
    let receivers: [String]

    static let keys = ["rules", "receivers"]
  }

  init(file path: String) throws(WorkerError) {
    let data: Data
    do { data = try DataFile.read(path, maxBytes: Self.maxFileBytes) } catch {
      throw WorkerError(.invalidTable, error.message)
    }
    do {
      let file = try JSONReader(maxBytes: Self.maxFileBytes, syntax: .json5).decode(Strict<File>.self, from: data).part
      rules = file.rules.map(\.part)
      receivers = Set(file.receivers)
    } catch {
      throw WorkerError(.invalidTable, "\(path): \(DecodingText.describe(error))")
    }
    guard !rules.isEmpty else {
      throw WorkerError(
        .invalidTable, "\(path): rules is empty: the shipped table shows what belongs there")
    }
    guard !receivers.isEmpty else {
      throw WorkerError(
        .invalidTable, "\(path): receivers is empty: the shipped table shows what belongs there")
    }
    if let wrong = receivers.first(where: { !MailAddress.isDomain($0) || $0 != $0.lowercased() }) {
      throw WorkerError(.invalidTable, "\(path): receivers must be domains in lower case, and \(wrong) is not")
    }
    for (index, rule) in rules.enumerated() {
      if let problem = Self.problem(rule) {
        throw WorkerError(.invalidTable, "\(path): rules[\(index)].\(problem)")
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

  /// Reasons of the rows that take a lane down.
  var laneDownReasons: Set<String> { Set(rules.filter { $0.class == .laneDown }.map(\.reason)) }

  /// Without one, its class follows from the first digit.
  func rule(_ stage: SMTPStage, _ reply: SMTPReply, recipient: MailAddress?) -> ReplyRule {
    // Servers break sentences into lines at any place.
    let text = reply.text.lowercased().split(whereSeparator: \.isWhitespace).joined(separator: " ")
    let rule = rules.first { $0.fits(stage, reply, lowerText: text) } ?? Self.fallback(reply)
    guard rule.class == .laneDown, Self.mayBeOthers(stage), let recipient else { return rule }
    return receivers.contains(recipient.domain.lowercased()) ? rule : rule.ofOneMail(isPermanent: reply.code / 100 == 5)
  }

  /// Whether a reply may come from the recipient's server, passed on by the one the mail is submitted to.
  private static func mayBeOthers(_ stage: SMTPStage) -> Bool {
    switch stage {
    case .connect, .tls, .greeting, .hello, .startTLS, .authentication, .check, .sender: false
    case .recipient, .data, .content, .final: true
    }
  }

  private static func fallback(_ reply: SMTPReply) -> ReplyRule {
    let isPermanent = reply.code / 100 == 5
    return ReplyRule(
      stages: nil, codes: nil, enhanced: nil, texts: nil, class: isPermanent ? .refused : .retry,
      reason: isPermanent ? "SERVER_REFUSED" : "SERVER_BUSY",
      detail: isPermanent ? "The mail server refused the message." : "The mail server does not accept the message now.",
      suppress: nil, delaySeconds: nil)
  }
}
