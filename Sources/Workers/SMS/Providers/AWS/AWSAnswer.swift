import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

struct AWSAnswer: Sendable {
  private let response: ProviderResponse<Body>
  private let exception: String?

  /// The message of an exception is not read: it may repeat the request.
  private struct Body: Decodable {
    let messageID: String?
    let type: String?
    let reason: String?
    let fields: [Field]?

    enum CodingKeys: String, CodingKey {
      case messageID = "MessageId"
      case type = "__type"
      case reason = "Reason"
      case fields = "Fields"
    }

    struct Field: Decodable {
      let name: String

      enum CodingKeys: String, CodingKey { case name = "Name" }
    }
  }

  init(_ response: HTTPResponse, now: UnixTime) {
    self.response = ProviderResponse(response, now: now)
    exception = (response.headers["x-amzn-ErrorType"] ?? self.response.body?.type).flatMap(Self.name)
  }

  var saysCredentialsAreWrong: Bool {
    [
      "UnrecognizedClientException", "InvalidSignatureException", "IncompleteSignatureException",
      "ExpiredTokenException",
      "InvalidClientTokenId", "MissingAuthenticationTokenException", "SignatureDoesNotMatch",
    ].contains(exception)
  }

  func classification(_ table: ProviderTable) -> Classification {
    if response.isSuccess {
      return response.body?.messageID.map { .accepted(reference: $0) } ?? LaneRequest.unreadable(response.status)
    }
    return response.classification(table, code: code(table))
  }

  /// The exception with its reason, with the invalid field, or alone.
  private func code(_ table: ProviderTable) -> String? {
    guard let exception else { return nil }
    let body = response.body
    let exact = ([body?.reason].compactMap(\.self) + (body?.fields ?? []).map(\.name)).filter(Self.isName)
      .map { "\(exception).\($0)" }
    return exact.first { table.rule(code: $0, status: response.status).isOfCode } ?? exception
  }

  /// Strips the namespace before a `#` and the address behind a `:` from the name of an exception.
  private static func name(_ text: String) -> String? {
    let name = text.prefix { $0 != ":" }.split(separator: "#").last.map(String.init)
    return name.flatMap { isName($0) ? $0 : nil }
  }

  private static func isName(_ text: String) -> Bool {
    (1...100).contains(text.utf8.count) && text.unicodeScalars.allSatisfy { $0 == "_" || $0.isASCIIAlphanumeric }
  }
}

extension Unicode.Scalar {
  fileprivate var isASCIIAlphanumeric: Bool {
    ("0"..."9").contains(self) || ("a"..."z").contains(self) || ("A"..."Z").contains(self)
  }
}
