import HTTPServer
import JOSE
import Telemetry

/// The addresses that providers are told to report to: one for every message, made so that nobody else can make one.
///
///     <publicURL>/receipts/<lane>?job=<job ID>&correlation=<correlation ID>&t=<seconds>&mac=<code>
///
/// So a report finds its message whichever worker it reaches, and no worker has to remember what it sent.
struct CallbackAddresses: Sendable {
  /// Whom a report is about.
  struct Subject: Sendable, Hashable {
    var jobID: String
    var correlationID: String?
  }

  enum Refusal: Error, Sendable, Hashable {
    /// It is not an address of ours.
    case forged
    /// It is one, but older than reports are taken for.
    case stale
  }

  /// The path below which reports are taken.
  static let path = "/receipts/"
  /// Bytes of the code; 128 bits.
  private static let macBytes = 16

  private let base: String
  private let key: SymmetricKeyBytes
  /// How long after the message was sent reports are taken. Networks keep trying for up to three days.
  private let maxAge: Duration

  /// - Parameters:
  ///   - publicURL: What providers reach this worker's HTTP port by, without a slash at its end.
  ///   - secret: What the addresses are signed with; the same for all workers of a queue.
  ///   - maxAge: How long after the message was sent reports are taken.
  init(publicURL: String, secret: Secret, maxAge: Duration) {
    base = (publicURL.hasSuffix("/") ? String(publicURL.dropLast()) : publicURL) + Self.path
    key = SymmetricKeyBytes(Array(secret.reveal().utf8))
    self.maxAge = maxAge
  }

  /// The address for the reports of one message.
  func url(lane: String, subject: Subject, at now: UnixTime) -> String {
    let time = String(now.seconds)
    var query = "job=\(URLComponent.encode(subject.jobID))"
    if let correlationID = subject.correlationID { query += "&correlation=\(URLComponent.encode(correlationID))" }
    return "\(base)\(lane)?\(query)&t=\(time)&mac=\(mac(lane, subject, time))"
  }

  /// Whom a report is about, and the address that its sender was told.
  func subject(
    of request: HTTPServerRequest, lane: String, now: UnixTime
  ) throws(Refusal) -> (subject: Subject, url: String) {
    guard let jobID = request.parameter("job"), let time = request.parameter("t"), let given = request.parameter("mac"),
      let seconds = Int64(time)
    else { throw .forged }
    let subject = Subject(jobID: jobID, correlationID: request.parameter("correlation"))
    guard constantTimeEquals(Array(given.utf8), Array(mac(lane, subject, time).utf8)) else { throw .forged }
    let sentAt = UnixTime(seconds: seconds)
    guard now - sentAt <= maxAge else { throw .stale }
    return (subject, url(lane: lane, subject: subject, at: sentAt))
  }

  private func mac(_ lane: String, _ subject: Subject, _ time: String) -> String {
    // No part can hold a zero byte and so be taken for two.
    let text = [lane, subject.jobID, subject.correlationID ?? "", time].joined(separator: "\0")
    let code = HMACSHA256.authenticate(Array(text.utf8), key: key.bytes)
    return Base64URL.encode(Array(code.prefix(Self.macBytes)))
  }
}

/// A key that does not print.
struct SymmetricKeyBytes: Sendable, CustomStringConvertible {
  let bytes: [UInt8]
  init(_ bytes: [UInt8]) { self.bytes = bytes }
  var description: String { "<redacted>" }
}
