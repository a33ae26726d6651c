/// How long the phases of a request may take.
public struct HTTPTimeouts: Sendable, Hashable {
  /// Resolving the name, connecting and the TLS handshake together, from the moment that a connection is begun: requests wait while
  /// sixteen others are being opened.
  public var connect: Duration
  /// From the moment the request is written to the first byte of the answer's headers; `nil` leaves it to `total`.
  public var firstByte: Duration?
  /// Everything, from the call to the last byte of the answer, waiting for a free slot included.
  public var total: Duration

  /// Makes the time-outs; each must be at least 1 ms.
  public init(connect: Duration = .seconds(3), firstByte: Duration? = nil, total: Duration = .seconds(10)) {
    let shortest = min(connect, total, firstByte ?? total)
    precondition(shortest >= .milliseconds(1), "a time-out must be at least 1 ms")
    self.connect = connect
    self.firstByte = firstByte
    self.total = total
  }
}

extension Duration {
  /// Whole nanoseconds; a duration of more than 290 years becomes that.
  var nanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    guard seconds < 9_000_000_000 else { return 9_000_000_000_000_000_000 }
    return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
  }
}
