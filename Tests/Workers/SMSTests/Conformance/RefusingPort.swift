import Glibc

/// A port where nobody listens, and where nobody else can begin to while it is held: it is bound and refuses every connection.
struct RefusingPort: ~Copyable {
  let number: UInt16
  let descriptor: Int32

  init() throws(PortError) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { throw PortError(errno) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr = in_addr(s_addr: inet_addr("127.0.0.1"))
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        let status = bind(descriptor, address, length)
        return status == 0 ? getsockname(descriptor, address, &length) : status
      }
    }
    guard status == 0 else {
      close(descriptor)
      throw PortError(errno)
    }
    self.descriptor = descriptor
    number = UInt16(bigEndian: address.sin_port)
  }

  consuming func release() {}

  deinit { close(descriptor) }
}

struct PortError: Error {
  let code: Int32
  init(_ code: Int32) { self.code = code }
}
