import CountersignCryptography
import CountersignTelemetry
import HTTPClient
import Synchronization

enum ReceiptState: String, Sendable { case sent, delivered, undelivered, failed }

/// Form of Vonage's delivery reports, which its customers choose.
enum ReceiptForm: String, Sendable, Decodable {
  /// Query of a GET, signed by `sig`.
  case query
  /// Form of a POST, signed by `sig`.
  case form
  /// JSON of a POST, signed by `sig`.
  case json
  /// JSON of a POST, signed by a JWT.
  case token
}

struct DeliveryReport: Sendable {
  let message: ReceivedMessage
  let state: ReceiptState
  let errorCode: Int?
  let form: ReceiptForm
  var time: UnixTime
}

/// Sent, then the final state.
final class ReceiptReporter: Sendable {
  /// Further ones are dropped, as by a provider that gives up.
  private static let maxOpen = 4_096
  private static let maxOrders = 10_000
  /// Number of times that a refused report is repeated, each after a second.
  private static let tries = 3

  private let orders = Mutex(RecentMap<String, ReceiptOrder>(capacity: maxOrders))
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

  /// Replaces an earlier order.
  func add(_ order: ReceiptOrder) { orders.withLock { $0[order.to] = order } }

  func clear() { orders.withLock { $0.removeAll() } }

  /// In the background.
  func post(_ message: ReceivedMessage, _ write: @escaping @Sendable (DeliveryReport) -> HTTPRequest) {
    report(message) { await self.send($0, write) }
  }

  func report(_ message: ReceivedMessage, _ send: @escaping @Sendable (DeliveryReport) async -> Void) {
    let order = orders.withLock { $0[message.to] } ?? ReceiptOrder(to: message.to)
    guard open.add(1, ordering: .relaxed).newValue <= Self.maxOpen else {
      open.subtract(1, ordering: .relaxed)
      return
    }
    func report(_ state: ReceiptState, _ errorCode: Int?) -> DeliveryReport {
      DeliveryReport(
        message: message, state: state, errorCode: errorCode, form: order.form ?? .query, time: clock.now())
    }
    Task {
      defer { open.subtract(1, ordering: .relaxed) }
      await send(report(.sent, nil))
      guard let state = order.state else { return }
      do { try await Task.sleep(for: order.delay) } catch { return }
      for _ in 1...(order.times ?? 1) { await send(report(state, order.errorCode)) }
    }
  }

  private func send(_ report: DeliveryReport, _ write: (DeliveryReport) -> HTTPRequest) async {
    var report = report
    for attempt in 1...Self.tries {
      report.time = clock.now()
      let answer = await http.status(of: write(report))
      metrics.with(String(answer)).increment()
      if answer != 0, answer < 500 { return }
      guard attempt < Self.tries else { return }
      do { try await Task.sleep(for: .seconds(1)) } catch { return }
    }
  }

  static func token(_ claims: String, secret: [UInt8]) -> String {
    do {
      return try JWS.sign(Array(claims.utf8), secret: secret)
    } catch {
      preconditionFailure("claims of this size can be signed: \(error)")
    }
  }
}
