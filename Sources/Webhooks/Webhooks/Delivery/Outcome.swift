/// Outcome of one request.
enum Outcome: Sendable, Hashable {
  case delivered
  /// 410: the receiver wants no more events.
  case gone
  /// Another answer.
  case refused(status: Int)
  /// No answer, with the reason.
  case unreachable(String)
  /// The address is not allowed.
  case forbidden
  /// Nothing was tried, for a reason of this process.
  case skipped

  static let labels = [Outcome.delivered, .gone, .refused(status: 0), .unreachable(""), .forbidden, .skipped]
    .map(\.label)

  init(_ status: Int) {
    switch status {
    case 200...299: self = .delivered
    case 410: self = .gone
    default: self = .refused(status: status)
    }
  }

  var label: String {
    switch self {
    case .delivered: "delivered"
    case .gone: "gone"
    case .refused: "refused"
    case .unreachable: "unreachable"
    case .forbidden: "forbidden"
    case .skipped: "skipped"
    }
  }

  /// For people: no path, no query, no secret.
  var failure: String? {
    switch self {
    case .delivered, .skipped: nil
    case .gone: "the answer was 410"
    case .refused(let status): "the answer was \(status)"
    case .unreachable(let reason): "no answer: \(reason)"
    case .forbidden: "the address is not allowed"
    }
  }
}
