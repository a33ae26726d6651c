import CountersignMessages
import CountersignTelemetry

/// The steps of a verification, oldest first, never more than ``capacity``.
///
/// Kept as text (see ``TimelineText``), as it is stored: a step is added without parsing the previous ones. Most
/// verifications have about ten steps. One with many requesters, delays or cancellations may have more than it holds: a
/// full timeline drops the second one, since the first shows the beginning and the last the end.
struct Timeline: Sendable, Hashable, Codable {
  static let capacity = 64

  private(set) var text: String
  private var count: Int

  init() {
    text = ""
    count = 0
  }

  init(text: String) {
    self.text = text
    count = text.isEmpty ? 0 : text.utf8.reduce(1) { $0 + ($1 == TimelineText.lineEnd ? 1 : 0) }
  }

  /// Parses the text, so read it once.
  var entries: [TimelineEntry] { TimelineText.decode(text) }

  var isEmpty: Bool { count == 0 }

  mutating func append(_ entry: TimelineEntry) {
    if count >= Self.capacity {
      var kept = entries
      kept.remove(at: 1)
      self = Timeline()
      for entry in kept { append(entry) }
    }
    TimelineText.append(entry, to: &text)
    count += 1
  }
}

extension Timeline {
  /// Adds missing entries from another source, each at its time. At equal times, before the existing one.
  mutating func add(_ more: [TimelineEntry]) {
    let known = entries
    let all = more.filter { !known.contains($0) } + known
    var merged = Timeline()
    for (_, entry) in all.enumerated().sorted(by: { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }) {
      merged.append(entry)
    }
    self = merged
  }
}

/// One step in the life of a verification or an operation, as `verification.status` and `operation.status` show it.
struct TimelineEntry: Sendable, Hashable, Codable {
  /// The raw values are part of the answers.
  enum Kind: String, Sendable, Codable {
    case started
    case smsQueued = "sms.queued"
    case smsDelayed = "sms.delayed"
    case smsAccepted = "sms.accepted"
    case smsRefused = "sms.refused"
    case smsExpired = "sms.expired"
    case smsUnknown = "sms.unknown"
    case smsDelivered = "sms.delivered"
    case smsUndelivered = "sms.undelivered"
    case wrongCode = "check.wrong"
    /// A check that decided nothing: because of a limit, or because the verification had ended.
    case checkRefused = "check.refused"
    case approved
    case failed
    case expired
    case canceled
    case pushQueued = "push.queued"
    case pushAccepted = "push.accepted"
    case pushRefused = "push.refused"
    case pushExpired = "push.expired"
    case pushUnknown = "push.unknown"
    case proofAccepted = "proof.accepted"
    case proofRefused = "proof.refused"
    case proofMissing = "proof.missing"
    case recaptchaQueued = "recaptcha.queued"
    case recaptchaAccepted = "recaptcha.accepted"
    case recaptchaRefused = "recaptcha.refused"
    case recaptchaExpired = "recaptcha.expired"
    case recaptchaUnknown = "recaptcha.unknown"
    case revokeQueued = "revoke.queued"
    case revokeDelayed = "revoke.delayed"
    case revokeAccepted = "revoke.accepted"
    case revokeRefused = "revoke.refused"
    case revokeExpired = "revoke.expired"
    case revokeUnknown = "revoke.unknown"
    case revokeConfirmed = "revoke.confirmed"
    case noticeQueued = "notice.queued"
    case noticeDelayed = "notice.delayed"
    case noticeAccepted = "notice.accepted"
    case noticeRefused = "notice.refused"
    case noticeExpired = "notice.expired"
    case noticeUnknown = "notice.unknown"
    case completed
    case revoked
  }

  /// Time at which the coordinator learned of it.
  var at: UnixTime
  var kind: Kind
  /// Number of the SMS that it concerns, from 1.
  var job: Int?
  var lane: String?
  var worker: String?
  /// The provider's own ID of the SMS.
  var reference: String?
  var reason: String?
  var detail: String?
  var attempts: Int?
  var segments: Int?
  /// The handle that it concerns, unless it is the first or all.
  var handle: Int?
  /// Earliest time of the next attempt, after a delay.
  var nextAttemptAt: UnixTime?
  /// The broker's user that checked the code.
  var user: String?
}

extension TimelineEntry {
  init(at: UnixTime, _ report: JobReport, accepted: Kind, refused: Kind, expired: Kind, unknown: Kind) {
    let kind =
      switch report.outcome {
      case .accepted: accepted
      case .refused: refused
      case .expired: expired
      case .unknown: unknown
      }
    // Only SMS are numbered, and their caller sets `job`: there is one of every other kind.
    self.init(
      at: at, kind: kind, lane: report.lane, worker: report.worker, reference: report.reference,
      reason: report.reason?.code, detail: report.reason?.detail, attempts: report.attempts)
  }
}

/// A timeline as text: an entry a line, its fields in a fixed order between tabs, empty ones at the end left out.
///
/// It is written with every change of a verification, and JSON costs ten times as much.
enum TimelineText {
  static let lineEnd = UInt8(ascii: "\n")
  private static let separator = UInt8(ascii: "\t")

  static func append(_ entry: TimelineEntry, to text: inout String) {
    if !text.isEmpty { text += "\n" }
    text += String(entry.at.milliseconds)
    text += "\t"
    text += entry.kind.rawValue
    var missing = 0
    func put(_ field: String?) {
      missing += 1
      guard let field, !field.isEmpty else { return }
      for _ in 0..<missing { text += "\t" }
      missing = 0
      text += clean(field)
    }
    put(entry.job.map(String.init))
    put(entry.lane)
    put(entry.worker)
    put(entry.reference)
    put(entry.reason)
    put(entry.detail)
    put(entry.attempts.map(String.init))
    put(entry.segments.map(String.init))
    put(entry.handle.map(String.init))
    put(entry.nextAttemptAt.map { String($0.milliseconds) })
    put(entry.user)
  }

  static func decode(_ text: String) -> [TimelineEntry] {
    text.utf8.split(separator: lineEnd).compactMap(entry)
  }

  private static func entry(_ line: Substring.UTF8View) -> TimelineEntry? {
    let fields = line.split(separator: separator, omittingEmptySubsequences: false)
    guard fields.count >= 2, let at = Int64(Substring(fields[0])),
      let kind = TimelineEntry.Kind(rawValue: String(Substring(fields[1])))
    else { return nil }
    var entry = TimelineEntry(at: UnixTime(milliseconds: at), kind: kind)
    func text(_ index: Int) -> String? {
      guard index < fields.count, !fields[index].isEmpty else { return nil }
      return String(Substring(fields[index]))
    }
    entry.job = text(2).flatMap { Int($0) }
    entry.lane = text(3)
    entry.worker = text(4)
    entry.reference = text(5)
    entry.reason = text(6)
    entry.detail = text(7)
    entry.attempts = text(8).flatMap { Int($0) }
    entry.segments = text(9).flatMap { Int($0) }
    entry.handle = text(10).flatMap { Int($0) }
    entry.nextAttemptAt = text(11).flatMap { Int64($0) }.map { UnixTime(milliseconds: $0) }
    entry.user = text(12)
    return entry
  }

  /// Texts of workers are data: control characters become spaces.
  private static func clean(_ field: String) -> String {
    guard field.utf8.contains(where: { $0 < 0x20 }) else { return field }
    return String(decoding: field.utf8.map { $0 < 0x20 ? 0x20 : $0 }, as: UTF8.self)
  }
}
