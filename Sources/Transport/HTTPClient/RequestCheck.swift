/// Refuses what would let a value break out of its header line, or what libcurl would understand otherwise.
enum RequestCheck {
  static func check(_ request: HTTPRequest) throws(TransportError) {
    guard !request.method.isEmpty, request.method.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) else {
      throw .invalidRequest("the method must be a word in capitals")
    }
    guard request.url.hasPrefix("https://") || request.url.hasPrefix("http://"),
      request.url.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { throw .invalidRequest("the URL must begin with http:// or https:// and be percent-encoded") }
    for (name, value) in request.headers.fields {
      guard !name.isEmpty, name.utf8.allSatisfy(isTokenByte) else {
        throw .invalidRequest("a header name is malformed")
      }
      guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
        throw .invalidRequest("the value of header \(name) has a control character")
      }
    }
  }

  /// RFC 9110, section 5.6.2.
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}
