import CountersignMessages
import Synchronization

/// Measurements of a run of verifications, proofs or calls.
package struct LoadResult: Sendable, Hashable, Encodable {
  /// Number of those that succeeded.
  package let done: Int
  /// Numbers of failures, by error code.
  package let failed: [String: Int]
  /// Messages and pushes to recipients that had one already.
  package let repeated: Int
  /// Successes per second.
  package let rate: Double
  /// Latency from the first request to the message's arrival at the provider or, of proofs, to the receipt.
  package let first: LatencySummary?
  /// Latency from the first request to the end.
  package let whole: LatencySummary?

  enum CodingKeys: String, CodingKey {
    case done, failed, repeated, first, whole
    case rate = "perSecond"
  }
}

final class LoadTally: Sendable {
  typealias Instants = (first: ContinuousClock.Instant?, end: ContinuousClock.Instant)

  private struct State {
    var failed: [String: Int] = [:]
    var first: [Duration] = []
    var whole: [Duration] = []
  }

  private let state = Mutex(State())

  func time(_ one: () async throws -> Instants) async {
    let begun = ContinuousClock.now
    do {
      let instants = try await one()
      state.withLock {
        if let first = instants.first { $0.first.append(first - begun) }
        $0.whole.append(instants.end - begun)
      }
    } catch {
      let code =
        (error as? APIError)?.code.rawValue ?? (error as? LoadFailure)?.code ?? String(describing: type(of: error))
      state.withLock { $0.failed[code, default: 0] += 1 }
    }
  }

  func result(in took: Duration, repeated: Int = 0) -> LoadResult {
    let state = state.withLock { $0 }
    return LoadResult(
      done: state.whole.count, failed: state.failed, repeated: repeated,
      rate: Double(state.whole.count) / took.inSeconds, first: LatencySummary(state.first),
      whole: LatencySummary(state.whole))
  }
}

struct LoadFailure: Error {
  let code: String
}

/// Percentiles of a set of latencies, in milliseconds. Half, 95 or 99 of 100 samples are not above them.
package struct LatencySummary: Sendable, Hashable, Encodable {
  package let median, percentile95, percentile99, maximum: Double

  enum CodingKeys: String, CodingKey {
    case median = "medianMilliseconds"
    case percentile95 = "percentile95Milliseconds"
    case percentile99 = "percentile99Milliseconds"
    case maximum = "maximumMilliseconds"
  }

  init?(_ samples: [Duration]) {
    guard !samples.isEmpty else { return nil }
    let sorted = samples.map(\.milliseconds).sorted()
    // Nearest rank: the smallest value that is not below that share of all.
    func percentile(_ percent: Int) -> Double { sorted[max(0, (sorted.count * percent + 99) / 100 - 1)] }
    (median, percentile95, percentile99) = (percentile(50), percentile(95), percentile(99))
    maximum = sorted[sorted.count - 1]
  }
}

extension Duration {
  var milliseconds: Double {
    Double(components.seconds) * 1000 + Double(components.attoseconds) / 1e15
  }

  var inSeconds: Double { milliseconds / 1000 }
}
