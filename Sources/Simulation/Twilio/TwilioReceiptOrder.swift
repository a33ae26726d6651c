/// The body of `POST /control/receipts`: what is to be reported of the messages for a number.
struct TwilioReceiptOrder: ControlOrder {
  static let fields: Set<String> = ["to", "status", "errorCode", "delaySeconds", "times"]
  static let maxDelaySeconds = 3_600.0
  static let maxTimes = 100

  private let to: String
  private let status: Status
  private let errorCode: Int?
  private let delaySeconds: Double?
  private let times: Int?

  private enum Status: String, Decodable { case delivered, undelivered, failed, none }

  /// The number, and what is reported.
  func ending() throws(ControlProblem) -> (number: String, ending: TwilioEnding) {
    let delay = try Self.within(delaySeconds, 0...Self.maxDelaySeconds, "delaySeconds")
    return (
      to,
      TwilioEnding(
        status: status == .none ? nil : status.rawValue, errorCode: errorCode,
        delay: delay.map { .milliseconds(Int64($0 * 1_000)) } ?? TwilioEnding.usual.delay,
        times: try Self.within(times, 1...Self.maxTimes, "times") ?? 1)
    )
  }
}

/// What Twilio reports of a message in the end.
struct TwilioEnding: Sendable {
  /// `MessageStatus`; nil when nothing is ever reported.
  let status: String?
  let errorCode: Int?
  /// How long after the message was taken.
  let delay: Duration
  /// How often the same report comes.
  let times: Int

  static let usual = TwilioEnding(status: "delivered", errorCode: nil, delay: .milliseconds(200), times: 1)
}
