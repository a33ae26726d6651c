import CountersignEncoding
import CountersignMessages
import FoundationEssentials
import TestSupport
import Testing

@testable import Mail

@Suite struct WritingTests {
  private func lines(_ text: String) -> [String] { text.components("\r\n") }

  @Test func `A plain subject is folded at spaces`() {
    let words = Array(repeating: "subject", count: 40).joined(separator: " ")
    let field = HeaderField.text("Subject", words)
    #expect(lines(field).allSatisfy { $0.utf8.count <= 78 })
    #expect(lines(field).dropFirst().allSatisfy { $0.hasPrefix(" ") && $0.count > 1 })
    #expect(field.replacing("\r\n", with: "") == "Subject: " + words)
  }

  @Test(
    arguments: [
      "Ünïcode", "=?UTF-8?Q?x?=", "two  spaces", " leading", String(repeating: "x", count: 100),
      "日本語の件名です。とても長いので一行には収まりません。",
      "emoji 👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦", "e" + String(repeating: "\u{301}", count: 60),
    ])
  func `Other subjects are encoded words`(subject: String) throws {
    let field = HeaderField.text("Subject", subject)
    #expect(lines(field).allSatisfy { $0.utf8.count <= 78 })
    #expect(field.utf8.allSatisfy { $0 < 0x80 })
    var decoded: [UInt8] = []
    for word in field.dropFirst("Subject:".count).split(whereSeparator: { " \r\n".contains($0) }) {
      #expect(word.hasPrefix("=?UTF-8?B?") && word.hasSuffix("?=") && word.utf8.count <= 75)
      let bytes = try #require(Base64.decode(String(word.dropFirst(10).dropLast(2))))
      // No character of UTF-8 is divided (RFC 2047, 5).
      #expect(String(validating: bytes, as: UTF8.self) != nil)
      decoded += bytes
    }
    #expect(String(decoding: decoded, as: UTF8.self) == subject)
  }

  @Test(
    arguments: [
      ("Example", "From: \"Example\" <a@example.com>"), ("A \"B\" \\", #"From: "A \"B\" \\" <a@example.com>"#),
      ("Ü", "From: =?UTF-8?B?w5w=?= <a@example.com>"),
    ])
  func `Display names are encoded`(name: String, field: String) throws {
    let address = try #require(MailAddress("a@example.com"))
    #expect(HeaderField.address("From", address, displayName: name) == field)
  }

  @Test func `Bodies travel in the shortest way that keeps them`() {
    #expect(TransferEncoding.encode("Hi\n").encoding == .sevenBit)
    #expect(TransferEncoding.encode("Grüße").encoding == .quotedPrintable)
    #expect(TransferEncoding.encode(String(repeating: "日本語", count: 20)).encoding == .base64)
    #expect(TransferEncoding.encode(String(repeating: "x", count: 79)).encoding == .quotedPrintable)
    #expect(TransferEncoding.encode("--boundary").encoding == .quotedPrintable)
    #expect(String(decoding: TransferEncoding.encode("From me").bytes, as: UTF8.self) == "=46rom me\r\n")
    #expect(String(decoding: TransferEncoding.encode("a= \t\n").bytes, as: UTF8.self) == "a=3D =09\r\n")
  }

  @Test(
    arguments: ["a\nb", "a\rb", "a\r\nb", "a\n\rb", "\n", "a\r", ".dot\n..dots\n", "é\rb\nc"])
  func `Every line break becomes CRLF`(text: String) {
    let bytes = TransferEncoding.encode(text).bytes
    for (index, byte) in bytes.enumerated() {
      if byte == 10 { #expect(index > 0 && bytes[index - 1] == 13) }
      if byte == 13 { #expect(index + 1 < bytes.count && bytes[index + 1] == 10) }
    }
    #expect(bytes.suffix(2).elementsEqual([13, 10]))
  }

  @Test func `Encoded lines are short`() {
    for text in [
      String(repeating: "é x", count: 500), String(repeating: "日", count: 2000), String(repeating: "=", count: 900),
    ] {
      let lines = lines(String(decoding: TransferEncoding.encode(text).bytes, as: UTF8.self))
      #expect(lines.allSatisfy { $0.utf8.count <= 76 })
    }
  }

  @Test func `The message ID is the jobs`() {
    #expect(MailMessageID.text(job, domain: "example.com") == MailMessageID.text(job, domain: "example.com"))
    for id in ["", "a b", "a>\r\nX: y", ".a", "a..b", "é", String(repeating: "a", count: 65), "job-1"] {
      let text = MailMessageID.text(MessageIdentity(sender: "sender", messageID: id), domain: "example.com")
      #expect(text.wholeMatch(of: /[0-9a-f]{32}@example\.com/) != nil)
      // Another sender's job of the same ID is another mail.
      let other = MessageIdentity(sender: "accounts", messageID: id)
      #expect(text != MailMessageID.text(other, domain: "example.com"))
    }
  }

  private let job = MessageIdentity(sender: "sender", messageID: "job-1")

  private func mail(_ text: MailText, unsubscribe: String? = nil) throws -> (String, [UInt8]) {
    let signer = try DKIMSigner()
    let mail = OutgoingMail(
      to: try #require(MailAddress("ada@example.org")), sender: try .example(signer: signer), text: text,
      unsubscribeURL: unsubscribe)
    let bytes = try MailWriter(signer: signer).write(mail, job: job, date: time)
    return (String(decoding: bytes, as: UTF8.self), bytes)
  }

  @Test func `A mail has its fields`() throws {
    let (text, _) = try mail(MailText(subject: "Hi", text: "T", html: "<p>T</p>"), unsubscribe: "https://example.com/u")
    let head = text.components("\r\n\r\n")[0]
    for field in [
      "Date: Wed, 01 Jul 2026 12:00:00 +0000", "From: \"Example\" <hello@example.com>", "To: ada@example.org",
      "Subject: Hi",
      "Message-ID: <\(MailMessageID.text(job, domain: "example.com"))>", "Auto-Submitted: auto-generated",
      "MIME-Version: 1.0",
      "List-Unsubscribe: <https://example.com/u>", "List-Unsubscribe-Post: List-Unsubscribe=One-Click",
    ] { #expect(lines(head).contains(field)) }
    #expect(head.contains("multipart/alternative"))
    // Every field that readers trust is signed, and nobody can add a second one.
    let signed = head.components("DKIM-Signature:")[1].filter { !$0.isWhitespace }.lowercased()
    let list = signed.components(";h=")[1].components(";")[0].components(":")
    for name in ["from", "to", "subject", "date", "message-id", "content-type"] {
      #expect(list.filter { $0 == name }.count == 2)
    }
    for name in ["list-unsubscribe", "list-unsubscribe-post", "mime-version", "auto-submitted"] {
      #expect(list.contains(name))
    }
  }

  @Test func `The same job is the same mail`() throws {
    let text = MailText(subject: "Hi", text: "T", html: "<p>T</p>")
    // Without the signature before it, which says when it was made.
    let first = try mail(text).0.components("\r\nDate: ")[1]
    #expect(try mail(text).0.components("\r\nDate: ")[1] == first)
  }

  @Test func `No line is too long`() throws {
    let long = String(repeating: "wörd ", count: 5000)
    let (text, bytes) = try mail(MailText(subject: String(repeating: "wörd ", count: 60), text: long, html: long))
    #expect(lines(text).allSatisfy { $0.utf8.count <= 78 })
    #expect(bytes.allSatisfy { $0 < 0x80 })
  }

  @Test func `A key that is none is refused`() throws {
    let signer = try DKIMSigner()
    #expect(throws: DKIMError.self) {
      try DKIMKey(domain: "example.com", selector: "s", pem: "nothing", signer: signer)
    }
    let key = try DKIMKey(domain: "example.com", selector: "s", pem: SampleKeys.ed25519, signer: signer)
    #expect(key.algorithm == .ed25519)
    #expect(!"\(key)".contains("MC4C"))
  }
}

extension String {
  fileprivate func components(_ separator: String) -> [String] {
    var parts: [String] = []
    var rest = self[...]
    while let range = rest.firstRange(of: separator) {
      parts.append(String(rest[..<range.lowerBound]))
      rest = rest[range.upperBound...]
    }
    return parts + [String(rest)]
  }
}
