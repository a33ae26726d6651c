import CountersignEncoding

/// Way in which a simulated provider fails on demand.
struct Fault: Sendable, Equatable {
  enum Kind: Sendable, Equatable {
    case latency
    case status(Int)
    /// TCP reset after the request was read.
    case reset
    /// Orderly end of the connection, without an answer.
    case close
    /// No answer for `delay`, then the end of the connection.
    case hang

    var name: String {
      switch self {
      case .latency: "latency"
      case .status(let status): String(status)
      case .reset: "reset"
      case .close: "close"
      case .hang: "hang"
      }
    }
  }

  let id: Int
  let kind: Kind
  /// Provider that fails; `nil` means any.
  let provider: Provider?
  /// Number whose messages fail; `nil` means any.
  let recipient: String?
  /// Number of requests still to hit; `nil` means no limit.
  var remaining: Int?
  /// Probability that it hits a matching request, 0 to 1.
  let probability: Double
  let delay: Duration
  let retryAfterSeconds: Int?
  /// Whether the message is accepted nevertheless.
  let isProcessed: Bool
  var hits = 0

  var json: String {
    """
    {"id":\(id),"provider":"\(provider?.rawValue ?? "any")","fault":"\(kind.name)","to":\(JSONString.quote(recipient)),\
    "remaining":\(remaining.map(String.init) ?? "null"),"probability":\(probability),\
    "delaySeconds":\(Double(delay.components.seconds) + Double(delay.components.attoseconds) / 1e18),\
    "retryAfterSeconds":\(retryAfterSeconds.map(String.init) ?? "null"),"processed":\(isProcessed),"hits":\(hits)}
    """
  }
}
