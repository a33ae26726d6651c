import CountersignCryptography
import CountersignTelemetry
import SQLite
import Synchronization

/// Environments of device tokens and verdicts on reCAPTCHA tokens, in an SQLite file that all push-workers of a host
/// share. Only hashes of tokens are stored.
final class PushMemory: Sendable {
  /// Time an assessed token is remembered. reCAPTCHA's tokens live two minutes.
  static let assessmentLife: Duration = .seconds(48 * 3600)
  /// Interval between searches for old rows.
  static let purgeInterval: Duration = .seconds(600)
  /// Maximum number of rows removed at once.
  static let purgeLimit: Int64 = 2000

  private let database: Database
  private let environmentLife: Duration
  private let logger: Logger
  private let clock: any MonotonicClock
  private let nextPurge = Mutex(MonotonicTime(nanoseconds: .min))

  private init(_ database: Database, environmentLife: Duration, logger: Logger, clock: any MonotonicClock) {
    self.database = database
    self.environmentLife = environmentLife
    self.logger = logger
    self.clock = clock
  }

  /// Opens the memory, and creates its file if necessary.
  ///
  /// - Parameters:
  ///   - path: path of the file; its directory must exist.
  ///   - environmentLife: time an environment is remembered.
  ///   - logger: log for environments that cannot be read or written.
  ///   - clock: clock for the search for old rows.
  /// - Throws: a problem that the operator has to fix.
  static func open(
    path: String, environmentLife: Duration, logger: Logger, clock: any MonotonicClock = SystemMonotonicClock()
  ) async throws(DatabaseError) -> PushMemory {
    PushMemory(
      try await Database.open(path: path, migrations: PushMemorySchema.migrations), environmentLife: environmentLife,
      logger: logger, clock: clock)
  }

  func close() async { await database.close() }

  private func purgeIfDue(_ now: UnixTime) async throws(DatabaseError) {
    let moment = clock.now()
    let isDue = nextPurge.withLock { next in
      guard next <= moment else { return false }
      next = moment + Self.purgeInterval
      return true
    }
    guard isDue else { return }
    let environments = now - environmentLife
    try await database.write { session throws(DatabaseError) in
      try PushMemoryStatements.purge("environment", before: environments, session)
      try PushMemoryStatements.purge("assessment", before: now - Self.assessmentLife, session)
    }
  }
}

extension PushMemory: EnvironmentMemory {
  func environment(of deviceToken: String, app: String) async -> DeviceEnvironment? {
    let key = Self.key(deviceToken, app)
    do throws(DatabaseError) {
      return try await database.read { session throws(DatabaseError) in
        try PushMemoryStatements.environment(key, session)
      }
    } catch {
      logger.warning("environment of a device token cannot be read", [.app: app, .error: error.message])
      return nil
    }
  }

  func remember(_ environment: DeviceEnvironment, of deviceToken: String, app: String, at now: UnixTime) async {
    let key = Self.key(deviceToken, app)
    do throws(DatabaseError) {
      try await database.write { session throws(DatabaseError) in
        try PushMemoryStatements.remember(environment, key, now, session)
      }
      try await purgeIfDue(now)
    } catch {
      logger.warning("environment of a device token cannot be remembered", [.app: app, .error: error.message])
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
    do throws(DatabaseError) {
      try await purgeIfDue(now)
      return try await database.write { session throws(DatabaseError) in
        try PushMemoryStatements.begin(token, jobID, now, session)
      }
    } catch {
      throw AssessmentMemoryError(description: error.message)
    }
  }

  func record(
    _ verdict: AssessmentVerdict, of token: [UInt8], jobID: String, now: UnixTime
  ) async throws(AssessmentMemoryError) {
    let json: [UInt8]
    do { json = try verdict.json() } catch {
      throw AssessmentMemoryError(description: "the verdict cannot be written as JSON")
    }
    do throws(DatabaseError) {
      try await database.write { session throws(DatabaseError) in
        try PushMemoryStatements.record(json, token, jobID, now, session)
      }
    } catch {
      throw AssessmentMemoryError(description: error.message)
    }
  }

  func release(_ token: [UInt8], jobID: String) async throws(AssessmentMemoryError) {
    do throws(DatabaseError) {
      try await database.write { session throws(DatabaseError) in
        try PushMemoryStatements.release(token, jobID, session)
      }
    } catch {
      throw AssessmentMemoryError(description: error.message)
    }
  }

  func verdict(of token: [UInt8], jobID: String) async throws(AssessmentMemoryError) -> AssessmentVerdict? {
    do throws(DatabaseError) {
      return try await database.read { session throws(DatabaseError) in
        try PushMemoryStatements.verdict(token, jobID, session)
      }
    } catch {
      throw AssessmentMemoryError(description: error.message)
    }
  }
}
