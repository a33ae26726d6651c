internal import FoundationEssentials

/// An HTTP URL taken apart: where to connect, and as whom.
struct HTTPAddress: Sendable, Hashable {
  /// Scheme, host and port: `http://127.0.0.1:15672`. It holds no password, and so can be shown.
  let base: String
  /// `user:password`, decoded.
  let credentials: String?

  /// - Throws: when the text is no URL with `http` or `https`.
  init(_ text: String) throws(OperationsError) {
    guard let url = URL(string: text), let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme),
      let host = url.host(percentEncoded: true), !host.isEmpty
    else { throw OperationsError(.configuration, "an address is no http or https URL: http://USER:PASSWORD@HOST:PORT") }
    let port = url.port.map { ":\($0)" } ?? ""
    base = "\(scheme)://\(host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host)\(port)"
    if let user = url.user(percentEncoded: false), !user.isEmpty {
      credentials = "\(user):\(url.password(percentEncoded: false) ?? "")"
    } else {
      credentials = nil
    }
  }

  init(base: String, credentials: String?) {
    self.base = base
    self.credentials = credentials
  }
}
