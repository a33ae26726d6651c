import CountersignConcurrency
import Glibc

/// Opens the socket that the daemon listens on, so that each way to fail has its own message.
enum ListeningSocket {
  private static let backlog: Int32 = 1_024

  static func open(host: String, port: UInt16) throws(HTTPServerError) -> (descriptor: Int32, port: UInt16) {
    guard let address = HostResolver.addresses(of: host).first else {
      throw HTTPServerError(
        code: .hostNotFound, description: "cannot listen on \(host):\(port): the name is not known; use an address")
    }
    let descriptor = try bindAndListen(address, host: host, port: port)
    return (descriptor, boundPort(descriptor))
  }

  private static func bindAndListen(
    _ address: HostAddress, host: String, port: UInt16
  ) throws(HTTPServerError) -> Int32 {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(address.family, type, 0)
    guard descriptor >= 0 else { throw failure(errno, host: host, port: port) }
    // A restarted process must not wait for the old connections' TIME_WAIT.
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    guard address.withSocketAddress(port: port, { bind(descriptor, $0, $1) }) == 0, listen(descriptor, backlog) == 0
    else {
      let number = errno
      close(descriptor)
      throw failure(number, host: host, port: port)
    }
    return descriptor
  }

  private static func boundPort(_ descriptor: Int32) -> UInt16 {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutableBytes(of: &storage) { bytes in
      let address = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
      guard getsockname(descriptor, address, &length) == 0 else { return 0 }
      // The port is at the same place in sockaddr_in and sockaddr_in6 (RFC 3493, section 3.3).
      return UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
    }
  }

  private static func failure(_ number: Int32, host: String, port: UInt16) -> HTTPServerError {
    let (code, remedy): (HTTPServerError.Code, String) =
      switch number {
      case EADDRINUSE: (.portInUse, "the port is in use; stop what listens there or configure another port")
      case EADDRNOTAVAIL: (.addressNotAvailable, "no interface has that address; configure another host")
      case EACCES: (.permissionDenied, "not permitted; configure a port above 1023")
      default: (.failed, String(cString: strerror(number)))
      }
    return HTTPServerError(code: code, description: "cannot listen on \(host):\(port): \(remedy)")
  }
}
