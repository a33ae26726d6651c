import CountersignTelemetry
import PostgreSQL

/// Values of several entries, column by column, as ``LedgerSQL`` takes them.
struct LedgerColumns: Sendable {
  /// Maximum length of a key: an index of PostgreSQL takes no values above 2,700 bytes.
  static let maxKeyBytes = 2_000
  /// Maximum length of a result: a batch of them stays below the limit of a run.
  static let maxResultBytes = 512 << 10
  /// Maximum of a count of calls. What is beyond makes no difference, and must not fail the other entries.
  static let maxCalls = 1_000_000
  /// Maximum duration of a lease or a retention, for the same reason.
  static let maxDuration: Duration = .seconds(20 * 365 * 24 * 3600)

  private var keys: [[UInt8]?] = []
  private var tokens: [Int64?] = []
  private var lanes: [String?] = []
  private var leases: [Int64?] = []
  private var calls: [Int64?] = []
  private var keeps: [Int64?] = []
  private var results: [[UInt8]?] = []
  private var matches: [[UInt8]?] = []
  private var correlations: [[UInt8]?] = []
  private var failedTokens: [Int64?] = []

  mutating func add(_ entry: LedgerEntry, key: [UInt8]) {
    let claim = entry.claim
    keys.append(key)
    switch entry {
    case .claim:
      tokens.append(claim.token)
      lanes.append(claim.lane)
      leases.append(Self.milliseconds(claim.times.leaseUntil - claim.times.now))
      calls.append(Int64(max(0, min(claim.redeliveries, Self.maxCalls))))
      keeps.append(Self.milliseconds(claim.times.keepUntil - claim.times.now))
      for token in claim.failedTokens { failedTokens.append(token) }
    case .release, .forget:
      tokens.append(claim.token)
      calls.append(0)
    case .postpone:
      tokens.append(claim.token)
      calls.append(1)
    case .settle(_, let result, let time):
      keeps.append(Self.milliseconds(claim.times.keepUntil - time))
      results.append(result)
      // A job with an ID that no provider has is recorded, and not found by it.
      let match = claim.match.map { Array($0.key.utf8) }.flatMap { $0.count > Self.maxKeyBytes ? nil : $0 }
      matches.append(match)
      correlations.append(match == nil ? nil : claim.match?.correlationID.map { Array($0.utf8) })
    }
  }

  var forSettling: [PostgreSQLValue] {
    [.byteArrays(keys), .integers(keeps), .byteArrays(results), .byteArrays(matches), .byteArrays(correlations)]
  }

  var forForgetting: [PostgreSQLValue] { [.byteArrays(keys), .integers(tokens)] }

  var forMakingIdle: [PostgreSQLValue] { [.byteArrays(keys), .integers(tokens), .integers(calls)] }

  var forClaiming: [PostgreSQLValue] {
    [
      .byteArrays(keys), .integers(tokens), .texts(lanes), .integers(leases), .integers(calls), .integers(keeps),
      .integers(failedTokens),
    ]
  }

  private static func milliseconds(_ duration: Duration) -> Int64 {
    max(.zero, min(duration, maxDuration)).wholeMilliseconds
  }

  /// The reason that the table does not take an entry: it fails alone, instead of its whole batch.
  static func problem(_ entry: LedgerEntry, key: [UInt8]) -> StoreError? {
    if key.count > maxKeyBytes { return StoreError(.tooLarge, "the ID of a job is too long") }
    if entry.claim.lane.utf8.contains(0) {
      return StoreError(.content, "the name of a lane has a zero byte")
    }
    guard case .settle(_, let result, _) = entry, result.count > maxResultBytes else { return nil }
    return StoreError(.tooLarge, "the result of a job is too long")
  }
}
