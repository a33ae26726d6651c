import CountersignEncoding

/// A request that has been read completely.
public struct HTTPServerRequest: Sendable {
  /// The method, in capitals as sent: `GET`, `POST`, …
  public let method: String
  /// Path and query as sent, still percent-encoded, because signatures cover them in this form.
  public let target: String
  /// The path, percent-decoded and without the query.
  public let path: String
  /// The parameters of the query in order, percent-decoded, `+` being a space.
  public let query: [(name: String, value: String)]
  /// The header fields.
  public let headers: HTTPServerHeaders
  /// The body. Empty if absent. Never longer than the server's `maxBodyBytes`.
  public let body: [UInt8]
  /// The address of the client's end of the connection, without the port: `127.0.0.1`, `::1`.
  public let remoteAddress: String

  /// Makes a request of its parts. Without a target it counts as sent without a query.
  public init(
    method: String, target: String? = nil, path: String, query: [(name: String, value: String)] = [],
    headers: HTTPServerHeaders = [:], body: [UInt8] = [], remoteAddress: String = ""
  ) {
    self.method = method
    self.target = target ?? path
    self.path = path
    self.query = query
    self.headers = headers
    self.body = body
    self.remoteAddress = remoteAddress
  }

  /// Makes a request of a target as it is sent, percent-encoded.
  public init(
    method: String, target: String, headers: HTTPServerHeaders = [:], body: [UInt8] = [], remoteAddress: String = ""
  ) {
    let parts = target.utf8.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
    self.init(
      method: method, target: target, path: parts.first.map { PercentEncoding.decode(Substring($0)) } ?? "",
      query: parts.count > 1 ? FormEncoding.decode(parts[1]) : [], headers: headers, body: body,
      remoteAddress: remoteAddress)
  }

  /// The first parameter of that name in the query.
  public func parameter(_ name: String) -> String? {
    query.first { $0.name == name }?.value
  }
}
