import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import HTTPServer
import JobEngine

/// The addresses that providers are told to report to: one for every message, made so that nobody else can make one.
///
///     <publicURL>/receipts/<lane>?job=<job>&correlation=<correlation ID>&t=<seconds>&mac=<code>
///     <publicURL>/receipts/<lane>/<seconds>/<code>/<job>/<correlation ID>
///
/// The job is its sender, U+001F and its ID. The second form is for providers that put what they report into the query: then nothing else is in it. The correlation ID may be
/// absent in both. So a report finds its message whichever worker it reaches, and no worker has to remember what it sent.
struct CallbackAddresses: Sendable {
  /// Whom a report is about.
  struct Subject: Sendable, Hashable {
    var job: MessageIdentity
    var correlationID: String?
  }

  /// Where in the address it says whom a report is about.
  enum Form: Sendable, Hashable { case query, path }

  /// A report that came to an address of ours.
  struct Told: Sendable, Hashable {
    let subject: Subject
    /// The address that the provider was told, with what it added to the query.
    let url: String
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
  private let key: HMACSHA256Key
  /// How long after the message was sent reports are taken. Networks keep trying for up to three days.
  private let maxAge: Duration

  /// - Parameters:
  ///   - publicURL: What providers reach this worker's HTTP port by, without a slash at its end.
  ///   - secret: What the addresses are signed with; the same for all workers of a queue.
  ///   - maxAge: How long after the message was sent reports are taken.
  init(publicURL: String, secret: Secret, maxAge: Duration) {
    base = (publicURL.hasSuffix("/") ? String(publicURL.dropLast()) : publicURL) + Self.path
    key = HMACSHA256Key(Array(secret.reveal().utf8))
    self.maxAge = maxAge
  }

  /// The address for the reports of one message.
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

  /// The lane that a report is for; what it says is checked by ``told(_:lane:now:)``.
  static func lane(of request: HTTPServerRequest) -> String {
    String(request.path.dropFirst(path.count).prefix { $0 != "/" })
  }

  /// Whom a report is about, and the address that its sender used.
  func told(_ request: HTTPServerRequest, lane: String, now: UnixTime) throws(Refusal) -> Told {
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
    return Told(subject: parts.subject, url: url)
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
    // Taken apart before it is decoded: an ID may have a slash.
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

  /// Appends a part behind its length, so that no two lists of parts make the same text, whatever bytes are in them.
  private static func append(_ part: String?, to text: inout [UInt8]) {
    guard let part else {
      text.append(0)
      return
    }
    text.append(1)
    withUnsafeBytes(of: UInt32(part.utf8.count).bigEndian) { text += $0 }
    text += part.utf8
  }

  /// Bytes set aside for what is signed; more takes more.
  private static let usualLength = 128
}

extension CallbackAddresses {
  /// The address for the reports of the message of one attempt, for a provider that puts them into the query.
  func url(lane: String, of attempt: JobAttempt) -> String {
    url(
      lane: lane, subject: Subject(job: attempt.identity, correlationID: attempt.correlationID), at: attempt.startedAt,
      form: .path)
  }
}
