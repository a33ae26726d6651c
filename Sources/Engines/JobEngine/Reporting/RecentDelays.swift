import CountersignTelemetry
import ServiceRuntime
import Synchronization

/// For the doctor: the timeline of a job tells of that job alone.
final class RecentDelays: Sendable {
  static let maxReasons = 16

  private struct Entry {
    var count = 0
    var detail = ""
    var at: MonotonicTime
  }

  private let entries = Mutex<[String: Entry]>([:])

  func note(_ reason: Reason, now: MonotonicTime) {
    entries.withLock { entries in
      if entries[reason.code] == nil, entries.count >= Self.maxReasons,
        let oldest = entries.min(by: { $0.value.at < $1.value.at })
      {
        entries[oldest.key] = nil
      }
      let count = entries[reason.code]?.count ?? 0
      entries[reason.code] = Entry(count: count + 1, detail: reason.detail, at: now)
    }
  }

  func list(_ queue: String, now: MonotonicTime) -> [RuntimeReport.Delay] {
    entries.withLock { entries in
      entries.sorted { ($1.value.at, $0.key) < ($0.value.at, $1.key) }.map { code, entry in
        RuntimeReport.Delay(
          queue: queue, code: code, detail: entry.detail, count: entry.count,
          age: Int((now - entry.at).components.seconds))
      }
    }
  }
}

extension LaneState {
  func described(_ queue: String, now: MonotonicTime) -> RuntimeReport.Lane {
    RuntimeReport.Lane(
      name: configuration.name, queue: queue, isUp: isUp, reason: (reason ?? lastFailure)?.description,
      failures: failures, answered: lastAnswer.map { Int((now - $0).components.seconds) })
  }
}
