/// Body of `POST /control/receipts`: the delivery reports for messages to a number.
struct ReceiptOrder: ControlOrder, Sendable {
  static let fields: Set<String> = ["to", "status", "errorCode", "delaySeconds", "times", "form"]
  private static let usualDelay = Duration.milliseconds(200)

  private enum Status: String, Decodable { case delivered, undelivered, failed, none }

  let to: String
  private var status: Status?
  private(set) var errorCode: Int?
  private var delaySeconds: Double?
  private(set) var times: Int?
  private(set) var form: ReceiptForm?

  /// Reports of a number without an order: delivered.
  init(to: String) { self.to = to }

  /// `nil` means that no report on it is sent.
  var state: ReceiptState? { ReceiptState(rawValue: (status ?? .delivered).rawValue) }

  var delay: Duration { delaySeconds.map { .milliseconds(Int64($0 * 1_000)) } ?? Self.usualDelay }

  func check() throws(ControlProblem) {
    try Self.require(delaySeconds, in: 0...3_600, "delaySeconds")
    try Self.require(times, in: 1...100, "times")
  }
}
