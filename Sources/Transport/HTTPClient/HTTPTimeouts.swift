/// Time limits of the phases of a request.
public struct HTTPTimeouts: Sendable, Hashable {
  /// Resolving the name, connecting and the TLS handshake together, from the start of a connection; requests wait while
  /// sixteen connections are being opened.
  public var connect: Duration
  /// From the moment the request is written to the first byte of the answer's headers; `nil` leaves it to `total`.
  public var firstByte: Duration?
  /// From the call to the last byte of the answer, including the wait for a free slot.
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
