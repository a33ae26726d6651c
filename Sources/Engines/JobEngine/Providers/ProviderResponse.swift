public import CountersignEncoding
public import CountersignTelemetry
public import HTTPClient

/// A provider's HTTP response: status, requested wait, and the JSON body.
public struct ProviderResponse<Body: Sendable>: Sendable {
  /// HTTP status.
  public let status: Int
  /// Header fields.
  public let headers: HTTPHeaders
  /// Wait the provider asks for (`Retry-After`).
  public let retryAfter: Duration?
  /// Body of the provider's own form. `nil` for any other, such as the page of a gateway. The status decides then.
  public let body: Body?

  /// - Parameters:
  ///   - response: response to read.
  ///   - now: time of the response, from which `Retry-After` counts.
  ///   - read: reads the body; returns `nil` for a body of another form.
  public init(_ response: HTTPResponse, now: UnixTime, read: ([UInt8]) -> Body?) {
    status = response.status
    headers = response.headers
    retryAfter = response.headers["Retry-After"].flatMap { RetryAfter.parse($0, now: now) }
    body = read(response.body)
  }

  /// - Parameters:
  ///   - response: response to read.
  ///   - now: time of the response, from which `Retry-After` counts.
  public init(_ response: HTTPResponse, now: UnixTime) where Body: Decodable {
    self.init(response, now: now) { try? JSONReader.answers.decode(Body.self, from: $0) }
  }

  /// Whether the status says success.
  public var isSuccess: Bool { status / 100 == 2 }

  /// The meaning of a response that reports a failure.
  ///
  /// - Parameters:
  ///   - table: provider's table.
  ///   - code: provider's own code, if the response has one.
  public func classification(_ table: ProviderTable, code: String? = nil) -> Classification {
    table.classification(status: status, code: code, retryAfter: retryAfter)
  }
}

/// A body that is not read: the status says it all.
public enum IgnoredBody: Sendable {}

extension ProviderResponse where Body == IgnoredBody {
  /// - Parameters:
  ///   - response: response whose body is ignored.
  ///   - now: time of the response, from which `Retry-After` counts.
  public init(_ response: HTTPResponse, now: UnixTime) {
    self.init(response, now: now) { _ in nil }
  }
}

extension JSONReader {
  /// Reads responses of providers, up to the longest one the transport takes by default.
  public static let answers = JSONReader(maxBytes: 1 << 20, allowsRepeatedNames: true)
}
