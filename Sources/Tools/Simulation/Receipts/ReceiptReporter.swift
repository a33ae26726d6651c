import CountersignCryptography
import CountersignTelemetry
import HTTPClient
import Synchronization

/// Writes delivery reports in the form of a provider.
protocol ReceiptWriter: Sendable {
  func request(
    _ message: ReceivedMessage, _ state: ReceiptState, errorCode: Int?, form: ReceiptForm, now: UnixTime
  ) -> HTTPRequest
}

/// Reports the fate of accepted messages: sent, then the final state.
final class ReceiptReporter: Sendable {
  /// Maximum number of reports in progress; further ones are dropped, as by a provider that gives up.
  private static let maxOpen = 4_096
  /// Maximum number of numbers with an order of their own.
  private static let maxOrders = 10_000
  /// Number of times that a refused report is repeated, each after a second.
  private static let tries = 3

  private let orders = Mutex(RecentMap<String, ReceiptEnding>(capacity: maxOrders))
  private let open = Atomic(0)
  private let http: HTTPClient
  private let clock: any WallClock
  private let metrics: MetricFamily<Counter>

  init(metrics: MetricsRegistry, clock: any WallClock) throws(TransportError) {
    http = try HTTPClient(
      HTTPClient.Configuration(maxConcurrent: 64, maxWaiting: Self.maxOpen, userAgent: "countersign-simulator"))
    self.clock = clock
    self.metrics = metrics.counter(
      "countersign_simulator_receipts_total", "Delivery reports by the status that the receiver answered; 0: none.",
      labels: ["status"])
  }

  /// Sets the reports for a number, replacing an earlier order.
  func add(_ body: [UInt8]) throws(ControlProblem) {
    let (number, ending) = try ReceiptOrder.read(body).ending()
    orders.withLock { $0[number] = ending }
  }

  func clear() { orders.withLock { $0.removeAll() } }

  /// Reports on an accepted message, in the background, over a protocol that is not HTTP.
  func report(_ message: ReceivedMessage, _ write: @escaping @Sendable (ReceiptState, Int?, UnixTime) -> Void) {
    let ending = orders.withLock { $0[message.to] } ?? .usual
    guard let state = ending.state else { return }
    guard open.add(1, ordering: .relaxed).newValue <= Self.maxOpen else {
      open.subtract(1, ordering: .relaxed)
      return
    }
    Task {
      defer { open.subtract(1, ordering: .relaxed) }
      do { try await Task.sleep(for: ending.delay) } catch { return }
      for _ in 1...ending.times { write(state, ending.errorCode, clock.now()) }
    }
  }

  func report(_ message: ReceivedMessage, by writer: any ReceiptWriter) {
    let ending = orders.withLock { $0[message.to] } ?? .usual
    guard open.add(1, ordering: .relaxed).newValue <= Self.maxOpen else {
      open.subtract(1, ordering: .relaxed)
      return
    }
    Task {
      defer { open.subtract(1, ordering: .relaxed) }
      await send { writer.request(message, .sent, errorCode: nil, form: ending.form, now: $0) }
      guard let state = ending.state else { return }
      do { try await Task.sleep(for: ending.delay) } catch { return }
      for _ in 1...ending.times {
        await send { writer.request(message, state, errorCode: ending.errorCode, form: ending.form, now: $0) }
      }
    }
  }

  private func send(_ request: (UnixTime) -> HTTPRequest) async {
    for attempt in 1...Self.tries {
      let answer = await answer(request(clock.now()))
      metrics.with(String(answer)).increment()
      if answer != 0, answer < 500 { return }
      guard attempt < Self.tries else { return }
      do { try await Task.sleep(for: .seconds(1)) } catch { return }
    }
  }

  /// Status of the answer, 0 without one.
  private func answer(_ request: HTTPRequest) async -> Int {
    do { return try await http.send(request).status } catch { return 0 }
  }
}

/// Signs tokens with a shared secret (HS256).
enum JSONWebToken {
  static func sign(_ claims: String, secret: [UInt8]) -> String {
    do {
      return try JWS.sign(Array(claims.utf8), secret: secret)
    } catch {
      preconditionFailure("claims of this size can be signed: \(error)")
    }
  }
}
