import CountersignCryptography
import CountersignTelemetry
import RecordStore
import Synchronization

/// Shared by all push-workers of a host, or of all hosts. Only hashes of tokens are stored.
final class PushMemory: Sendable {
  /// Tokens of reCAPTCHA live two minutes.
  static let assessmentLife: Duration = .seconds(48 * 3600)
  static let purgeInterval: Duration = .seconds(600)
  private static let environments = RecordKind("deviceEnvironment")
  private static let assessments = RecordKind("assessment")

  private let table: RecordTable
  private let environmentLife: Duration
  private let logger: Logger
  private let clock: any MonotonicClock
  private let nextPurge = Mutex(MonotonicTime(nanoseconds: .min))

  init(
    _ table: RecordTable, environmentLife: Duration, logger: Logger,
    clock: any MonotonicClock = SystemMonotonicClock()
  ) {
    self.table = table
    self.environmentLife = environmentLife
    self.logger = logger
    self.clock = clock
  }

  func close() async { await table.close() }

  private func purgeIfDue(_ now: UnixTime) async throws(StoreError) {
    let moment = clock.now()
    let isDue = nextPurge.withLock { next in
      guard next <= moment else { return false }
      next = moment + Self.purgeInterval
      return true
    }
    guard isDue else { return }
    let goesOn = try await table.change(
      forgetting: [
        TableAge(Self.environments, before: now - environmentLife),
        TableAge(Self.assessments, before: now - Self.assessmentLife),
      ])
    if goesOn { nextPurge.withLock { $0 = moment } }
  }
}

// MARK: - Environments

extension PushMemory {
  /// For apps that do not state it.
  func environment(of deviceToken: String, app: String) async -> DeviceEnvironment? {
    do throws(StoreError) {
      let found = try await table.find(Self.environments, [Self.key(deviceToken, app)]).first
      return found.flatMap { DeviceEnvironment(rawValue: String(decoding: $0.body, as: UTF8.self)) }
    } catch {
      logger.warning("environment of a device token cannot be read", [.app: app, .error: error.description])
      return nil
    }
  }

  /// A failure costs another try the next time.
  func remember(_ environment: DeviceEnvironment, of deviceToken: String, app: String, at now: UnixTime) async {
    do throws(StoreError) {
      let record = TableRecord(
        Self.environments, Self.key(deviceToken, app), writtenAt: now, body: Array(environment.rawValue.utf8))
      try await table.change(writing: [record])
      try await purgeIfDue(now)
    } catch {
      logger.warning("environment of a device token cannot be remembered", [.app: app, .error: error.description])
    }
  }

  private static func key(_ deviceToken: String, _ app: String) -> [UInt8] {
    SHA256.hash(Array(app.utf8) + [0] + Array(deviceToken.utf8))
  }
}

enum AssessmentStart: Sendable, Hashable {
  /// The token is new, and now claimed by the job.
  case fresh
  /// The job claimed it before, with an unknown outcome.
  case uncertain
  case assessed(AssessmentVerdict)
  case spent
}

// MARK: - Assessments

// reCAPTCHA takes a token once. A job that is delivered again after a crash must find its verdict here, and a second
// job with the same token must not get one.
extension PushMemory {
  /// Claims a token for a job, before it is assessed.
  func begin(
    _ token: [UInt8], jobID: String, now: UnixTime
  ) async throws(StoreError) -> AssessmentStart {
    try await purgeIfDue(now)
    let claim = Self.claim(of: jobID)
    let record = TableRecord(Self.assessments, token, writtenAt: now, body: claim)
    guard let known = try await table.add(record) else { return .fresh }
    guard known.body.starts(with: claim) else { return .spent }
    return Self.verdict(behind: claim, in: known).map(AssessmentStart.assessed) ?? .uncertain
  }

  /// Records the verdict, before it is published.
  func record(
    _ verdict: AssessmentVerdict, of token: [UInt8], jobID: String, now: UnixTime
  ) async throws(StoreError) {
    let json: [UInt8]
    do { json = try verdict.json() } catch {
      throw StoreError(.content, "the verdict cannot be written as JSON")
    }
    let claim = Self.claim(of: jobID)
    // Another job may have claimed the token since this one's claim was forgotten.
    try await table.replace(
      TableRecord(Self.assessments, token, writtenAt: now, body: claim + json), beginning: claim)
  }

  /// Releases a token that was certainly not assessed.
  func release(_ token: [UInt8], jobID: String) async throws(StoreError) {
    _ = try await table.remove(Self.assessments, token, holding: Self.claim(of: jobID))
  }

  func verdict(of token: [UInt8], jobID: String) async throws(StoreError) -> AssessmentVerdict? {
    let claim = Self.claim(of: jobID)
    return try await table.find(Self.assessments, [token]).first.flatMap { Self.verdict(behind: claim, in: $0) }
  }

  /// The beginning of the body, which no other job's has: the job's ID, and a byte that no UTF-8 has.
  private static func claim(of jobID: String) -> [UInt8] { Array(jobID.utf8) + [0xFF] }

  private static func verdict(behind claim: [UInt8], in record: TableRecord) -> AssessmentVerdict? {
    guard record.body.starts(with: claim) else { return nil }
    return AssessmentVerdict(json: Array(record.body.dropFirst(claim.count)))
  }
}
