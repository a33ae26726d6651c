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
