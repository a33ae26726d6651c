/// The body of `POST /control/receipts`: what is to be reported of the messages for a number.
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

  /// The number, and what is reported.
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

/// What a provider says of a message, in its own words.
enum ReceiptState: Sendable { case sent, delivered, undelivered, failed }

/// How Vonage reports, which its customers choose.
enum ReceiptForm: String, Sendable, Decodable {
  /// The query of a GET, signed by `sig`.
  case query
  /// The form of a POST, signed by `sig`.
  case form
  /// The JSON of a POST, signed by `sig`.
  case json
  /// The JSON of a POST, signed by a JWT.
  case token
}

/// What a provider reports of a message in the end.
struct ReceiptEnding: Sendable {
  /// nil when nothing is ever reported.
  let state: ReceiptState?
  let errorCode: Int?
  /// How long after the message was taken.
  let delay: Duration
  /// How often the same report comes.
  let times: Int
  let form: ReceiptForm

  static let usual = ReceiptEnding(
    state: .delivered, errorCode: nil, delay: .milliseconds(200), times: 1, form: .query)
}
