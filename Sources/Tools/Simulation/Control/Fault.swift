import CountersignEncoding

/// A way in which a simulated provider fails on demand.
struct Fault: Sendable, Equatable {
  enum Kind: Sendable, Equatable {
    case latency
    case status(Int)
    /// A TCP reset after the request was read.
    case reset
    /// The connection ends in the orderly way, without an answer.
    case close
    /// No answer for `delay`, then the connection ends.
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
  /// `nil` for any.
  let provider: Provider?
  /// Only messages for this number, if given.
  let recipient: String?
  /// Requests that it still hits; `nil` for any number of them.
  var remaining: Int?
  /// How likely it hits a request that fits, 0 to 1.
  let probability: Double
  let delay: Duration
  let retryAfterSeconds: Int?
  /// Whether the message is taken nevertheless.
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
