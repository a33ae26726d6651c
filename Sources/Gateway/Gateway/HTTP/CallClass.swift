import CountersignTelemetry
import Synchronization

/// A class of calls, by what they wait for. Each has places of its own, so that what hangs takes none of the others.
enum CallClass: String, Sendable, CaseIterable {
  /// Waits for the coordinator, for sign-ins by way of `accounts`.
  case coordinator
  /// Waits for identity providers, by way of `accounts`.
  case providers
  /// Waits for `accounts` to hash a password.
  case hashing
  /// Waits for `accounts` alone: public keys of session cookies may be fetched first.
  case accounts
  /// Administrators' calls, which wait for `accounts`, too: batches take long.
  case administrators
  /// Waits for the coordinator, by way of `accounts`, for servers, of which nginx lets each ask for many users.
  case verifications
  /// Waits for no service: projects, public keys of ID tokens, refusals.
  case gateway
}

/// Places for the calls that are answered at a time, for each class as many.
final class CallPlaces: Sendable {
  /// Connections that are open at least, for each place: of those beyond, calls are refused and need not wait to
  /// connect.
  static let connectionsPerPlace = 2

  private let perClass: Int
  private let taken = Mutex<[CallClass: Int]>([:])
  private let metrics: GatewayMetrics

  init(perClass: Int, metrics: GatewayMetrics) {
    self.perClass = perClass
    self.metrics = metrics
  }

  /// Has a call take place, or refuses it without waiting.
  func hold<Value>(
    _ callClass: CallClass, _ work: () async throws(ProtocolError) -> Value
  ) async throws(ProtocolError) -> Value {
    guard take(callClass) else {
      metrics.refused.with(callClass.rawValue).increment()
      throw .unavailable
    }
    defer { free(callClass) }
    return try await work()
  }

  private func take(_ callClass: CallClass) -> Bool {
    taken.withLock { taken in
      guard taken[callClass, default: 0] < perClass else { return false }
      taken[callClass, default: 0] += 1
      metrics.inFlight.with(callClass.rawValue).add(1)
      return true
    }
  }

  private func free(_ callClass: CallClass) {
    taken.withLock { $0[callClass, default: 1] -= 1 }
    metrics.inFlight.with(callClass.rawValue).add(-1)
  }
}
