import CountersignCryptography
import CountersignEncoding
public import CountersignMessages
public import CountersignTelemetry

/// Writes a mail as it goes over the wire, and signs it.
///
/// The parts are ASCII in short lines, and all lines end in CRLF: servers have nothing to correct on the way, which
/// would break the signature.
public struct MailWriter: Sendable {
  private let signer: DKIMSigner

  public init(signer: DKIMSigner) {
    self.signer = signer
  }

  /// Writes a mail.
  ///
  /// - Parameters:
  ///   - mail: mail to write.
  ///   - job: identity of the job, from which `Message-ID` is made; the same on every try.
  ///   - date: date for the field `Date`.
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
      HeaderField.plain("Date", MailDate.text(date.seconds)),
      HeaderField.address("From", sender.from, displayName: sender.name),
      HeaderField.address("To", mail.to),
      HeaderField.text("Subject", mail.text.subject),
      HeaderField.plain("Message-ID", "<\(MailMessageID.text(job, domain: sender.from.domain))>"),
    ]
    if let replyTo = sender.replyTo { fields.append(HeaderField.address("Reply-To", replyTo)) }
    // Keeps automatic replies away (RFC 3834, 5).
    fields.append(HeaderField.plain("Auto-Submitted", "auto-generated"))
    if let url = mail.unsubscribeURL {
      fields.append(HeaderField.plain("List-Unsubscribe", "<\(url)>"))
      fields.append(HeaderField.plain("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"))
    }
    fields.append(HeaderField.plain("MIME-Version", "1.0"))
    return fields
  }

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

/// The `Message-ID` of a job's mail: the same on every try, so that a second copy can be recognized.
///
/// It is a hash of sender and ID: two senders may give the same ID to two jobs, and servers drop the second mail under
/// one `Message-ID`.
enum MailMessageID {
  /// Without the angle brackets.
  static func text(_ job: MessageIdentity, domain: String) -> String { "\(hash(job))@\(domain)" }

  /// A boundary that no part can contain: encoded bodies have no `=_`, and a line that could look like one is encoded.
  static func boundary(_ job: MessageIdentity) -> String { "=_\(hash(job))" }

  private static func hash(_ job: MessageIdentity) -> String {
    Hexadecimal.encode(Array(SHA256.hash(Array(job.key.utf8)).prefix(16)))
  }
}
