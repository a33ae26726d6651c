import CountersignCryptography
import CountersignTelemetry
import Synchronization

/// Environments of device tokens and verdicts on reCAPTCHA tokens, which all push-workers of a host share, or of all
/// hosts. Only hashes of tokens are stored.
final class PushMemory: Sendable {
  /// Time an assessed token is remembered. reCAPTCHA's tokens live two minutes.
  static let assessmentLife: Duration = .seconds(48 * 3600)
  /// Interval between searches for old rows.
  static let purgeInterval: Duration = .seconds(600)
  /// Maximum number of rows removed at once.
  static let purgeLimit: Int64 = 2000

  private let store: any PushMemoryStore
  private let environmentLife: Duration
  private let logger: Logger
  private let clock: any MonotonicClock
  private let nextPurge = Mutex(MonotonicTime(nanoseconds: .min))

  init(
    _ store: any PushMemoryStore, environmentLife: Duration, logger: Logger,
    clock: any MonotonicClock = SystemMonotonicClock()
  ) {
    self.store = store
    self.environmentLife = environmentLife
    self.logger = logger
    self.clock = clock
  }

  func close() async { await store.close() }

  private func purgeIfDue(_ now: UnixTime) async throws(AssessmentMemoryError) {
    let moment = clock.now()
    let isDue = nextPurge.withLock { next in
      guard next <= moment else { return false }
      next = moment + Self.purgeInterval
      return true
    }
    guard isDue else { return }
    try await store.purge(environments: now - environmentLife, assessments: now - Self.assessmentLife)
  }
}

extension PushMemory: EnvironmentMemory {
  func environment(of deviceToken: String, app: String) async -> DeviceEnvironment? {
    do throws(AssessmentMemoryError) {
      return try await store.environment(Self.key(deviceToken, app))
    } catch {
      logger.warning("environment of a device token cannot be read", [.app: app, .error: error.description])
      return nil
    }
  }

  func remember(_ environment: DeviceEnvironment, of deviceToken: String, app: String, at now: UnixTime) async {
    do throws(AssessmentMemoryError) {
      try await store.remember(environment, Self.key(deviceToken, app), at: now)
      try await purgeIfDue(now)
    } catch {
      logger.warning("environment of a device token cannot be remembered", [.app: app, .error: error.description])
    }
  }

  private static func key(_ deviceToken: String, _ app: String) -> [UInt8] {
    SHA256.hash(Array(app.utf8) + [0] + Array(deviceToken.utf8))
  }
}

extension PushMemory: AssessmentMemory {
  func begin(
    _ token: [UInt8], jobID: String, now: UnixTime
  ) async throws(AssessmentMemoryError) -> AssessmentStart {
    try await purgeIfDue(now)
    return try await store.begin(token, jobID: jobID, at: now)
  }

  func record(
    _ verdict: AssessmentVerdict, of token: [UInt8], jobID: String, now: UnixTime
  ) async throws(AssessmentMemoryError) {
    let json: [UInt8]
    do { json = try verdict.json() } catch {
      throw AssessmentMemoryError(description: "the verdict cannot be written as JSON")
    }
    try await store.record(json, of: token, jobID: jobID, at: now)
  }

  func release(_ token: [UInt8], jobID: String) async throws(AssessmentMemoryError) {
    try await store.release(token, jobID: jobID)
  }

  func verdict(of token: [UInt8], jobID: String) async throws(AssessmentMemoryError) -> AssessmentVerdict? {
    try await store.verdict(of: token, jobID: jobID)
  }
}
