/// Body of `POST /control/receipts`: the delivery reports for messages to a number.
struct ReceiptOrder: ControlOrder {
  static let fields: Set<String> = ["to", "status", "errorCode", "delaySeconds", "times", "form"]
  static let maxDelaySeconds = 3_600.0
  static let maxTimes = 100

  private let to: String
  private let status: Status
  private let errorCode: Int?
  private let delaySeconds: Double?
  private let times: Int?
  private let form: ReceiptForm?

  private enum Status: String, Decodable { case delivered, undelivered, failed, none }

  /// The number, and its delivery reports.
  func ending() throws(ControlProblem) -> (number: String, ending: ReceiptEnding) {
    let delay = try Self.within(delaySeconds, 0...Self.maxDelaySeconds, "delaySeconds")
    return (
      to,
      ReceiptEnding(
        state: state, errorCode: errorCode,
        delay: delay.map { .milliseconds(Int64($0 * 1_000)) } ?? ReceiptEnding.usual.delay,
        times: try Self.within(times, 1...Self.maxTimes, "times") ?? 1, form: form ?? ReceiptEnding.usual.form)
    )
  }

  private var state: ReceiptState? {
    switch status {
    case .delivered: .delivered
    case .undelivered: .undelivered
    case .failed: .failed
    case .none: nil
    }
  }
}

/// State of a message in a delivery report.
enum ReceiptState: Sendable { case sent, delivered, undelivered, failed }

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

/// Final delivery report of a message.
struct ReceiptEnding: Sendable {
  /// `nil` means that no report is sent.
  let state: ReceiptState?
  let errorCode: Int?
  let delay: Duration
  /// Number of times that the same report is sent.
  let times: Int
  let form: ReceiptForm

  static let usual = ReceiptEnding(
    state: .delivered, errorCode: nil, delay: .milliseconds(200), times: 1, form: .query)
}
