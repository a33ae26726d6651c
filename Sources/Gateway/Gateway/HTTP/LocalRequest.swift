import CountersignEncoding
import HTTPServer
import ServiceRuntime

/// Rules for requests that only a client on this machine may make (development mode).
///
/// The name in `Host` has to be loopback, so that a page on the internet whose name was made to resolve to this machine
/// (DNS rebinding) is refused; a page of another origin is refused although it reaches loopback; and so is whatever a
/// proxy passed on.
enum LocalRequest {
  static func isLocal(_ request: HTTPServerRequest) -> Bool {
    guard IPAddress(request.remoteAddress)?.isLoopback == true else { return false }
    let hosts = request.headers.all("Host")
    guard hosts.count == 1, isLoopback(host: hosts[0]), !isForwarded(request) else { return false }
    return request.headers.all("Origin").allSatisfy(isLoopback(origin:))
  }

  static func isForwarded(_ request: HTTPServerRequest) -> Bool {
    request.headers.fields.contains { field in
      let name = field.name.lowercased()
      return ["forwarded", "via", "x-real-ip"].contains(name) || name.hasPrefix("x-forwarded")
    }
  }

  static func isLoopback(origin: String) -> Bool {
    URLParts(origin).map { LocalHost.contains($0.host) } ?? false
  }

  /// Whether the value of `Host` is loopback, with or without a port: `localhost:9099`, `[::1]:9099`.
  private static func isLoopback(host: String) -> Bool {
    guard let parts = URLParts("http://\(host)") else { return false }
    return !host.contains("/") && LocalHost.contains(parts.host)
  }
}

extension HTTPServerHeaders {
  func all(_ name: String) -> [String] {
    let name = name.lowercased()
    return fields.filter { $0.name.lowercased() == name }.map(\.value)
  }
}
