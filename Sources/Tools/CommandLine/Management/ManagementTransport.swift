import CountersignAMQP
import CountersignCryptography
import CountersignEncoding
import FoundationEssentials
import HTTPClient
import Synchronization

protocol ManagementTransport: Sendable {
  func send(_ method: String, _ path: String, body: [UInt8]?) async throws(CommandLineError) -> ManagementResponse
}

struct ManagementResponse: Sendable {
  let status: Int
  let body: [UInt8]
  /// Header `date`.
  var date: String?
}

/// Of the first host that answers, and of the next one when it no longer does.
final class CurlManagement: ManagementTransport {
  private let transport: HTTPClient
  private let addresses: [HTTPAddress]
  private let timeout: Duration
  private let current = Mutex(0)

  init(transport: HTTPClient, addresses: [HTTPAddress], timeout: Duration) {
    self.transport = transport
    self.addresses = addresses
    self.timeout = timeout
  }

  /// Room for all queues of a large broker.
  private static let maxResponseBytes = 16 * 1_048_576

  func send(_ method: String, _ path: String, body: [UInt8]?) async throws(CommandLineError) -> ManagementResponse {
    let first = current.withLock { $0 }
    var reasons: [String] = []
    for index in (0..<addresses.count).map({ (first + $0) % addresses.count }) {
      do {
        let response = try await send(method, path, body: body, to: addresses[index])
        current.withLock { $0 = index }
        return response
      } catch {
        reasons.append("\(addresses[index].base) does not answer (\(error.description))")
      }
    }
    throw CommandLineError(
      .unavailable,
      "the management API at \(reasons.joined(separator: "; ")): is the plugin rabbitmq_management on?")
  }

  private func send(
    _ method: String, _ path: String, body: [UInt8]?, to address: HTTPAddress
  ) async throws(TransportError) -> ManagementResponse {
    // RabbitMQ answers 406 to a client that accepts only JSON when it sets a limit, since that answer has no body.
    var headers: HTTPHeaders = ["Accept": "application/json, */*"]
    if let credentials = address.credentials {
      headers.add(name: "Authorization", value: "Basic \(Base64.encode(Array(credentials.utf8)))")
    }
    if body != nil { headers.add(name: "Content-Type", value: "application/json") }
    let request = HTTPRequest(
      method: method, url: address.base + path, headers: headers, body: body,
      // All requests used here are idempotent.
      timeouts: HTTPTimeouts(total: timeout), isIdempotent: true, maxResponseBytes: Self.maxResponseBytes)
    let response = try await transport.send(request)
    return ManagementResponse(status: response.status, body: response.body, date: response.headers["date"])
  }
}

struct HTTPAddress: Sendable, Hashable {
  /// Scheme, host and port: `http://127.0.0.1:15672`. Without a password, so that it may be shown.
  let base: String
  /// `user:password`, decoded.
  let credentials: String?

  init(_ text: String) throws(CommandLineError) {
    guard let url = URL(string: text), let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme),
      let host = url.host(percentEncoded: true), !host.isEmpty
    else {
      throw CommandLineError(.configuration, "an address is not an http or https URL: http://USER:PASSWORD@HOST:PORT")
    }
    let port = url.port.map { ":\($0)" } ?? ""
    base = "\(scheme)://\(host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host)\(port)"
    if let user = url.user(percentEncoded: false), !user.isEmpty {
      credentials = "\(user):\(url.password(percentEncoded: false) ?? "")"
    } else {
      credentials = nil
    }
  }

  /// Its host may be a list with commas, as that of the broker: an address for each host.
  static func list(_ text: String) throws(CommandLineError) -> [HTTPAddress] {
    guard let scheme = text.firstRange(of: "://") else { return [try HTTPAddress(text)] }
    let rest = text[scheme.upperBound...]
    let authority = rest.prefix { !"/?#".contains($0) }
    let at = authority.lastIndex(of: "@")
    let hosts = at.map { authority[authority.index(after: $0)...] } ?? authority
    let list: [BrokerHost]
    do {
      if let at { try BrokerHost.requireOneUser(authority[..<at]) }
      list =
        hosts.contains(",")
        ? try BrokerHost.list(hosts, defaultPort: text.lowercased().hasPrefix("https:") ? 443 : 80) : []
    } catch {
      throw CommandLineError(.configuration, "an address is not a list of hosts: \(error.message)")
    }
    guard !list.isEmpty else { return [try HTTPAddress(text)] }
    let before = text[..<hosts.startIndex]
    var addresses: [HTTPAddress] = []
    for host in list { addresses.append(try HTTPAddress("\(before)\(host)")) }
    return addresses
  }

  init(base: String, credentials: String?) {
    self.base = base
    self.credentials = credentials
  }
}
