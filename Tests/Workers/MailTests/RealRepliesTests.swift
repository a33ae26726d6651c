import FoundationEssentials
import SMTPClient
import TestSupport
import Testing

@testable import Mail

/// The shipped table against reply lines of real servers, `Tests/Fixtures/smtp-replies.txt`, which names their sources.
@Suite struct RealRepliesTests {
  private struct Line {
    let text: String
    let stage: SMTPStage
    let reply: SMTPReply
    let expected: String
  }

  private func lines() throws -> [Line] {
    let path = Repository.fixtures + "/smtp-replies.txt"
    let file = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
    var source: Substring?
    var lines: [Line] = []
    for text in file.split(separator: "\n") where !text.hasPrefix("#") {
      if text.hasPrefix("@ ") {
        source = text.dropFirst(2)
        continue
      }
      try #require(source != nil, "a line without a source: \(text)")
      let parts = text.split(separator: "|").map(String.init)
      try #require(parts.count == 3, "\(text)")
      lines.append(
        Line(
          text: String(text), stage: try #require(SMTPStage(rawValue: parts[0])),
          reply: try #require(SMTPReply(wire: parts[1])), expected: parts[2]))
    }
    return lines
  }

  @Test func `Every one is in its class`() throws {
    let table = try Shipped.table()
    let lines = try lines()
    #expect(lines.count > 300)
    let recipient = try #require(MailAddress("ada@gmail.com"))
    for line in lines {
      let rule = table.rule(line.stage, line.reply, recipient: recipient)
      let found = "\(rule.class) \(rule.reason)\(rule.suppress == true ? " suppress" : "")"
      #expect(found == line.expected, "\(line.text)")
    }
  }

  /// Nothing that a recipient's server says takes the lane down, whatever it quotes of the big ones, and what it says for now is not final.
  @Test func `None takes the lane down for an unknown receiver`() throws {
    let table = try Shipped.table()
    let recipient = try #require(MailAddress("ada@example.org"))
    for line in try lines() where [.recipient, .data, .content, .final].contains(line.stage) {
      let rule = table.rule(line.stage, line.reply, recipient: recipient)
      #expect(rule.class != .laneDown, "\(line.text)")
      if line.reply.code / 100 == 4 { #expect(rule.class == .retry, "\(line.text)") }
    }
  }

  /// Only what says that nobody is there puts an address onto the list of those that get nothing any more.
  @Test func `Suppressing replies are permanent`() throws {
    let table = try Shipped.table()
    for line in try lines() where table.rule(line.stage, line.reply, recipient: nil).suppress == true {
      #expect(line.reply.code / 100 == 5, "\(line.text)")
      #expect(line.expected == "refused RECIPIENT_GONE suppress", "\(line.text)")
    }
  }
}

extension SMTPReply {
  /// A line as a server sends it: `550 5.1.1 text`.
  fileprivate init?(wire: String) {
    guard let code = Int(wire.prefix(3)) else { return nil }
    let rest = wire.dropFirst(4)
    let words = rest.split(separator: " ", maxSplits: 1)
    let parts = words.first?.split(separator: ".") ?? []
    let isEnhanced =
      parts.count == 3 && parts[0] == wire.prefix(1) && parts.allSatisfy { $0.allSatisfy(\.isNumber) }
    self.init(
      code: code, enhancedCode: isEnhanced ? words.first.map(String.init) : nil,
      text: isEnhanced ? String(words.count > 1 ? words[1] : "") : String(rest))
  }
}
