/// Requests beyond them are refused before anything is done.
enum CallLimits {
  /// Maximum bytes of a usual body: an ID token of several KiB fits many times. The contract's messages have the same
  /// limit.
  static let maxBodyBytes = 64 * 1024
  /// Maximum bytes of a batch of users: 1,000 of them with everything that a user may have.
  static let maxBatchBytes = 8 * 1024 * 1024
  /// Maximum bytes of a body with a list of 1,000 IDs. Escaped, an ID of 128 bytes has at most 771.
  static let maxListBytes = 1024 * 1024
  /// Number of long bodies that are read at a time: each takes memory before its bearer is judged.
  static let maxLongBodiesAtOnce = 16
  /// Maximum levels of objects and arrays in each other. The protocol needs four.
  static let maxDepth = 16
  /// Maximum number of values in a body, those in lists and objects included. The protocol's largest calls of apps have
  /// about thirty.
  static let maxValues = 1_000
  /// Maximum number of values in a body with a list of 1,000 IDs, the protocol's longest.
  static let maxListValues = 1_100
  /// Maximum number of values in a batch of users: about fifty a user.
  static let maxBatchValues = 50_000
  /// Maximum number of fields of a form. The protocol's forms have two.
  static let maxFormFields = 64
  static let maxQueryParameters = 64
  /// Memory of a connection for request line and headers. Requests with more are refused by the server. Browsers send a
  /// few KiB.
  static let maxHeaderBytes = 32 * 1024
  /// Time from the arrival of a request to its answer, below the time-outs of SDKs (30 s and 60 s), so that the client
  /// hears of the failure.
  static let answerTime: Duration = .seconds(27)
  /// Time for a request to arrive whole, and for its answer to be taken.
  static let requestTime: Duration = .seconds(15)
  /// Silence after which a connection is closed: longer than nginx keeps an idle one to its upstream (60 s), so that
  /// nginx never sends a request on a connection that is being closed.
  static let idleTimeout: Duration = .seconds(75)
  /// Maximum bytes of a user agent that is passed on. A longer one is cut.
  static let maxUserAgentBytes = 256
}

struct BodyLimits: Sendable, Hashable {
  let bytes: Int
  let values: Int

  static let usual = BodyLimits(bytes: CallLimits.maxBodyBytes, values: CallLimits.maxValues)
  static let list = BodyLimits(bytes: CallLimits.maxListBytes, values: CallLimits.maxListValues)
  static let batch = BodyLimits(bytes: CallLimits.maxBatchBytes, values: CallLimits.maxBatchValues)
}
