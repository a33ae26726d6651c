import CurlTransport
import JOSE
import Synchronization
import Telemetry

/// Twilio's status callbacks: `sent`, then what became of the message, posted and signed as Twilio does
/// (https://www.twilio.com/docs/usage/security#validating-requests).
final class TwilioCallbacks: Sendable {
  /// Reports under way; what is beyond is not made, as when Twilio gives up.
  private static let maxOpen = 4_096
  /// Numbers with an order of their own.
  private static let maxOrders = 10_000
  /// A report that is refused or not taken is posted again so often, after a second each.
  private static let tries = 3

  private let accountSID: String
  private let authToken: Secret
  private let orders = Mutex(RecentMap<String, TwilioEnding>(capacity: maxOrders))
  private let open = Atomic(0)
  private let http: CurlTransport
  private let metrics: MetricFamily<Counter>

  init(_ settings: SimulatorSettings, metrics: MetricsRegistry) throws(TransportError) {
    accountSID = settings.accountSID
    authToken = settings.authToken
    http = try CurlTransport(
      CurlTransport.Configuration(maxConcurrent: 64, maxWaiting: Self.maxOpen, userAgent: "TwilioProxy/1.1"))
    self.metrics = metrics.counter(
      "countersign_simulator_receipts_total", "Delivery reports by the status that the receiver answered; 0: none.",
      labels: ["status"])
  }

  /// Puts an order into force, in place of an earlier one for that number.
  func add(_ body: [UInt8]) throws(ControlProblem) {
    let (number, ending) = try TwilioReceiptOrder.read(body).ending()
    orders.withLock { $0[number] = ending }
  }

  func clear() { orders.withLock { $0.removeAll() } }

  /// Reports on a message that was taken, in the background.
  func report(_ message: ReceivedMessage, to url: String) {
    let ending = orders.withLock { $0[message.to] } ?? .usual
    guard open.add(1, ordering: .relaxed).newValue <= Self.maxOpen else {
      open.subtract(1, ordering: .relaxed)
      return
    }
    Task {
      defer { open.subtract(1, ordering: .relaxed) }
      await post(message, "sent", nil, to: url)
      guard let status = ending.status else { return }
      do { try await Task.sleep(for: ending.delay) } catch { return }
      for _ in 1...ending.times { await post(message, status, ending.errorCode, to: url) }
    }
  }

  private func post(_ message: ReceivedMessage, _ status: String, _ errorCode: Int?, to url: String) async {
    var fields = [
      ("AccountSid", accountSID), ("ApiVersion", "2010-04-01"), ("From", message.from ?? ""),
      ("MessageSid", message.id), ("MessageStatus", status), ("SmsSid", message.id), ("SmsStatus", status),
      ("To", message.to),
    ]
    if let errorCode { fields.append(("ErrorCode", String(errorCode))) }
    let request = HTTPRequest(
      method: "POST", url: url,
      headers: HTTPHeaders([
        (name: "Content-Type", value: Form.mediaType), (name: "X-Twilio-Signature", value: signature(url, fields)),
      ]),
      body: Array(fields.map { "\($0)=\(Self.escaped($1))" }.joined(separator: "&").utf8))
    for attempt in 1...Self.tries {
      let answer = await answer(request)
      metrics.with(String(answer)).increment()
      if answer != 0, answer < 500 { return }
      guard attempt < Self.tries else { return }
      do { try await Task.sleep(for: .seconds(1)) } catch { return }
    }
  }

  /// The status, 0 without one.
  private func answer(_ request: HTTPRequest) async -> Int {
    do { return try await http.send(request).status } catch { return 0 }
  }

  private func signature(_ url: String, _ fields: [(String, String)]) -> String {
    let text = url + fields.sorted { $0.0 < $1.0 }.map { $0 + $1 }.joined()
    return Base64.encode(
      HMAC.authenticate(Array(text.utf8), key: Array(authToken.reveal().utf8), digest: .sha1))
  }

  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for byte in text.utf8 {
      let scalar = Unicode.Scalar(byte)
      let isPlain = ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar)
      escaped += isPlain ? String(scalar) : "%" + JSONText.hexadecimal(byte)
    }
    return escaped
  }
}
