import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPServer
public import JobEngine

/// Addresses that providers send delivery reports to: one for each message, signed so that only this system can make
/// it.
///
///     <publicURL>/receipts/<lane>?job=<job>&correlation=<correlation ID>&t=<seconds>&mac=<code>
///     <publicURL>/receipts/<lane>/<seconds>/<code>/<job>/<correlation ID>
///
/// The job is its sender, U+001F and its ID. The second form is for providers that report in the query, which is then
/// theirs alone. The correlation ID may be absent in both. So a report finds its message whichever worker it reaches,
/// and no worker has to remember what it sent.
public struct ReportAddresses: Sendable {
  struct Subject: Sendable, Hashable {
    var job: MessageIdentity
    var correlationID: String?
  }

  /// Part of the address that names the job.
  public enum Form: Sendable, Hashable {
    /// The query, for providers that report in the body.
    case query
    /// The path, for providers that report in the query.
    case path
  }

  struct Resolution: Sendable, Hashable {
    let subject: Subject
    /// Address that the provider was given, with the query that it added.
    let url: String
  }

  enum Refusal: Error, Sendable, Hashable {
    /// This system did not make the address.
    case forged
    /// The address is older than the maximum age of reports.
    case stale
  }

  static let path = "/receipts/"
  /// 128 bits.
  private static let macBytes = 16

  private let base: String
  private let key: HMACSHA256Key
  /// Maximum time between a message and its reports. Networks keep trying for up to three days.
  private let maxAge: Duration

  init(publicURL: String, secret: Secret, maxAge: Duration) {
    base = (publicURL.hasSuffix("/") ? String(publicURL.dropLast()) : publicURL) + Self.path
    key = HMACSHA256Key(Array(secret.reveal().utf8))
    self.maxAge = maxAge
  }

  func url(lane: String, subject: Subject, at now: UnixTime, form: Form = .query) -> String {
    let time = String(now.seconds)
    let jobID = PercentEncoding.encode(subject.job.key)
    let correlationID = subject.correlationID.map(PercentEncoding.encode)
    let code = mac(lane, subject, time)
    switch form {
    case .query:
      return "\(base)\(lane)?job=\(jobID)\(correlationID.map { "&correlation=\($0)" } ?? "")&t=\(time)&mac=\(code)"
    case .path:
      return "\(base)\(lane)/\(time)/\(code)/\(jobID)\(correlationID.map { "/\($0)" } ?? "")"
    }
  }

  /// A claim, which ``resolve(_:lane:now:)`` verifies.
  static func lane(of request: HTTPServerRequest) -> String {
    String(request.path.dropFirst(path.count).prefix { $0 != "/" })
  }

  func resolve(_ request: HTTPServerRequest, lane: String, now: UnixTime) throws(Refusal) -> Resolution {
    guard let parts = Self.parts(of: request, lane: lane), let seconds = Int64(parts.time) else { throw .forged }
    guard constantTimeEquals(Array(parts.mac.utf8), Array(mac(lane, parts.subject, parts.time).utf8)) else {
      throw .forged
    }
    let sentAt = UnixTime(seconds: seconds)
    guard now - sentAt <= maxAge else { throw .stale }
    let url =
      switch parts.form {
      case .query: url(lane: lane, subject: parts.subject, at: sentAt)
      case .path: base + request.target.dropFirst(Self.path.count)
      }
    return Resolution(subject: parts.subject, url: url)
  }

  private struct Parts {
    let form: Form
    let subject: Subject
    let time: String
    let mac: String
  }

  private static func parts(of request: HTTPServerRequest, lane: String) -> Parts? {
    if request.path == path + lane {
      guard let jobID = request.parameter("job"), let time = request.parameter("t"),
        let mac = request.parameter("mac")
      else { return nil }
      let subject = Subject(job: MessageIdentity(key: jobID), correlationID: request.parameter("correlation"))
      return Parts(form: .query, subject: subject, time: time, mac: mac)
    }
    // Split before it is decoded: an ID may contain a slash.
    let target = request.target.prefix { $0 != "?" }.dropFirst(path.count)
    let parts = target.split(separator: "/", omittingEmptySubsequences: false).map { PercentEncoding.decode($0) }
    guard (4...5).contains(parts.count), !parts[3].isEmpty else { return nil }
    let subject = Subject(job: MessageIdentity(key: parts[3]), correlationID: parts.count == 5 ? parts[4] : nil)
    return Parts(form: .path, subject: subject, time: parts[1], mac: parts[2])
  }

  private func mac(_ lane: String, _ subject: Subject, _ time: String) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(Self.usualLength)
    let parts: [String?] = [lane, subject.job.key, subject.correlationID, time]
    for part in parts { Self.append(part, to: &text) }
    return Base64URL.encode(Array(key.authenticate(text).prefix(Self.macBytes)))
  }

  /// After its length, so that different lists of parts never make the same text.
  private static func append(_ part: String?, to text: inout [UInt8]) {
    guard let part else {
      text.append(0)
      return
    }
    text.append(1)
    withUnsafeBytes(of: UInt32(part.utf8.count).bigEndian) { text += $0 }
    text += part.utf8
  }

  /// Capacity to reserve for the signed text, in bytes.
  private static let usualLength = 128
}

extension ReportAddresses {
  /// Address for the reports of the message of one attempt.
  ///
  /// - Parameters:
  ///   - lane: name of the lane.
  ///   - attempt: attempt that sends the message.
  ///   - form: part of the address that names the job; `.path` if the provider reports in the query.
  public func url(lane: String, of attempt: JobAttempt, form: Form) -> String {
    url(
      lane: lane, subject: Subject(job: attempt.job, correlationID: attempt.correlationID), at: attempt.startedAt,
      form: form)
  }
}
