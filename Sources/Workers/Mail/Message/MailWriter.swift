public import CountersignMessages
public import CountersignTelemetry
public import DKIM

/// Writes a mail as it goes over the wire, and signs it.
///
/// The parts are ASCII in short lines, and all lines end in CRLF: what servers would otherwise mend on the way, and break the
/// signature with, is right from the start.
public struct MailWriter: Sendable {
  private let signer: DKIMSigner

  /// - Parameter signer: Signs with the keys of each mail's sender.
  public init(signer: DKIMSigner) {
    self.signer = signer
  }

  /// Writes a mail.
  ///
  /// - Parameters:
  ///   - mail: What is sent.
  ///   - job: Makes `Message-ID`; the same on every try.
  ///   - date: The field `Date`.
  /// - Returns: Header and body.
  /// - Throws: when a signature cannot be made.
  public func write(_ mail: OutgoingMail, job: MessageIdentity, date: UnixTime) throws(DKIMError) -> [UInt8] {
    var headers = Self.headers(mail, job: job, date: date)
    let (fields, body) = Self.content(mail.text, boundary: MailMessageID.boundary(job))
    headers += fields
    var signatures: [String] = []
    for key in mail.sender.keys {
      signatures.append(try signer.signature(headers: headers, body: body, key: key))
    }
    return Array(((signatures + headers).joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
  }

  private static func headers(_ mail: OutgoingMail, job: MessageIdentity, date: UnixTime) -> [String] {
    let sender = mail.sender
    var fields = [
      HeaderField.plain("Date", MailDate.text(date)),
      HeaderField.address("From", sender.from, displayName: sender.name),
      HeaderField.address("To", mail.to),
      HeaderField.text("Subject", mail.text.subject),
      HeaderField.plain("Message-ID", "<\(MailMessageID.text(job, domain: sender.from.domain))>"),
    ]
    if let replyTo = sender.replyTo { fields.append(HeaderField.address("Reply-To", replyTo)) }
    // Nobody's vacation answers a machine (RFC 3834, 5).
    fields.append(HeaderField.plain("Auto-Submitted", "auto-generated"))
    if let url = mail.unsubscribeURL {
      fields.append(HeaderField.plain("List-Unsubscribe", "<\(url)>"))
      fields.append(HeaderField.plain("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"))
    }
    fields.append(HeaderField.plain("MIME-Version", "1.0"))
    return fields
  }

  /// The header fields that describe the body, and the body.
  private static func content(_ text: MailText, boundary: String) -> ([String], [UInt8]) {
    let plain = part(text.text, "plain")
    guard let html = text.html else { return plain }
    var body: [UInt8] = []
    // The last alternative is the best one (RFC 2046, 5.1.4).
    for (fields, content) in [plain, part(html, "html")] {
      body += Array("--\(boundary)\r\n\(fields.joined(separator: "\r\n"))\r\n\r\n".utf8) + content
      // The line break before a boundary belongs to the boundary.
      body += [13, 10]
    }
    body += Array("--\(boundary)--\r\n".utf8)
    return (["Content-Type: multipart/alternative;\r\n boundary=\"\(boundary)\""], body)
  }

  private static func part(_ text: String, _ subtype: String) -> ([String], [UInt8]) {
    let (encoding, bytes) = TransferEncoding.encode(text)
    return (
      [
        "Content-Type: text/\(subtype); charset=utf-8",
        "Content-Transfer-Encoding: \(encoding.rawValue)",
      ], bytes
    )
  }
}
