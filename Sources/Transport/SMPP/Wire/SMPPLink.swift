import Glibc

enum Transfer {
  case bytes(Int)
  case mustWait
  case failed(SMPPError)
}

/// A connection, plain or encrypted. Belongs to its opener, then to the session's actor.
final class SMPPLink {
  private let socket: TCPSocket
  private let tls: TLSLayer?

  private init(_ socket: TCPSocket, _ tls: TLSLayer?) {
    self.socket = socket
    self.tls = tls
  }

  /// Connects, and encrypts. Blocks for twice `connectTimeout` at most.
  static func open(_ configuration: SMPPConfiguration) throws(SMPPError) -> SMPPLink {
    let timeout = configuration.limits.connectTimeout
    let socket = try TCPSocket.connect(host: configuration.host, port: configuration.port, Deadline(after: timeout))
    guard let trust = configuration.tls else { return SMPPLink(socket, nil) }
    let tls = try TLSLayer(socket.number, host: configuration.host, trust)
    try tls.handshake(Deadline(after: timeout))
    return SMPPLink(socket, tls)
  }

  /// Valid until `close`.
  var descriptor: Int32 { socket.number }

  /// The end of the connection is a failure.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
    if let tls { return tls.read(into: buffer) }
    let count = recv(socket.number, buffer.baseAddress, buffer.count, 0)
    if count == 0 { return .failed(Self.ended) }
    return count > 0 ? .bytes(count) : Self.failure(errno)
  }

  func write(_ bytes: UnsafeRawBufferPointer) -> Transfer {
    if let tls { return tls.write(bytes) }
    let count = send(socket.number, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    return count >= 0 ? .bytes(count) : Self.failure(errno)
  }

  func close() {
    tls?.close()
    socket.close()
  }

  static let ended = SMPPError(.connectionLost, "the server closed the connection")

  private static func failure(_ code: Int32) -> Transfer {
    if code == EAGAIN || code == EINTR { return .mustWait }
    return .failed(SMPPError(.connectionLost, "the connection failed: \(String(cString: strerror(code)))"))
  }
}
