public import CountersignCryptography
import CountersignEncoding
public import CountersignTelemetry
import Synchronization

/// Collects what a process runs with: each part adds what it knows, and is asked again for every report.
public final class RuntimeRegistry: Sendable {
  /// Adds to a report. Called for each request, so it must be quick and must not wait.
  public typealias Part = @Sendable (inout RuntimeReport) -> Void

  private let parts = Mutex<[Part]>([])

  public init() {}

  /// Adds a part.
  public func add(_ part: @escaping Part) { parts.withLock { $0.append(part) } }

  /// The report as it is now.
  /// - Parameters:
  ///   - clock: time of the host.
  ///   - isGuarded: whether the reader may know paths and check values.
  public func report(clock: any WallClock, isGuarded: Bool) -> RuntimeReport {
    var report = RuntimeReport()
    report.guarded = RuntimeReport.Guarded()
    for part in parts.withLock({ $0 }) { part(&report) }
    report.queues.sort()
    report.delays.sort { $0.age < $1.age }
    report.now = clock.now().milliseconds
    if !isGuarded { report.guarded = nil }
    return report
  }
}

/// Check values of secrets: equal for equal secrets, and of no use to find one.
public enum CheckValue {
  /// Bytes of a check value: enough to tell keys apart.
  private static let length = 8

  /// Check value of a secret of at least 16 random bytes: a keyed hash of a fixed text under the secret itself.
  public static func of(_ secret: [UInt8]) -> String {
    Hexadecimal.encode(Array(HMACSHA256.authenticate(Array("countersign check value".utf8), key: secret)[..<length]))
  }

  /// Check values of public keys, by the ID.
  public static func of(_ keys: [PublicSealingKey]) -> [String: String] {
    Dictionary(keys.map { ("pair \($0.id)", of(Array($0.jwk.utf8))) }) { first, _ in first }
  }

  /// Check values of the keys of a ring, by the ID with the kind before it.
  public static func of(_ ring: KeyRing, kind: String) -> [String: String] {
    ring.opening.reduce(into: [:]) { values, entry in
      values["\(kind) \(entry.key)"] = entry.value.withUnsafeBytes { of(Array($0)) }
    }
  }
}
