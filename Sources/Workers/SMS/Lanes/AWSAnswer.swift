import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

/// What AWS answered: the ID of a message, or an exception with its reason.
struct AWSAnswer: Sendable {
  private let status: Int
  private let retryAfter: Duration?
  private let body: Body?
  /// `ThrottlingException`.
  private let exception: String?

  /// The message of an exception is not read: it may repeat what was sent.
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
    status = response.status
    retryAfter = response.headers["Retry-After"].flatMap { RetryAfter.parse($0, now: now) }
    // A gateway's page in the place of an answer: the status has to do.
    body = try? JSONReader.answers.decode(Body.self, from: response.body)
    exception = (response.headers["x-amzn-ErrorType"] ?? body?.type).flatMap(Self.name)
  }

  /// Whether AWS does not know who asks, whatever was asked.
  var saysCredentialsAreWrong: Bool {
    [
      "UnrecognizedClientException", "InvalidSignatureException", "IncompleteSignatureException",
      "ExpiredTokenException",
      "InvalidClientTokenId", "MissingAuthenticationTokenException", "SignatureDoesNotMatch",
    ].contains(exception)
  }

  func classification(_ table: ProviderTable) -> Classification {
    if status / 100 == 2 {
      return body?.messageID.map { .accepted(reference: $0) } ?? LaneRequest.unreadable(status)
    }
    return ProviderAnswer(status: status, code: code(table), retryAfter: retryAfter).classification(table)
  }

  /// The most exact one that the table has: the exception with its reason, with the field that it is about, or alone.
  private func code(_ table: ProviderTable) -> String? {
    guard let exception else { return nil }
    let exact = ([body?.reason].compactMap(\.self) + (body?.fields ?? []).map(\.name)).filter(Self.isName)
      .map { "\(exception).\($0)" }
    return exact.first { table.rule(code: $0, status: status).isOfCode } ?? exception
  }

  /// The name may come with its namespace before a `#`, and with an address behind a `:`.
  private static func name(_ text: String) -> String? {
    let name = text.prefix { $0 != ":" }.split(separator: "#").last.map(String.init)
    return name.flatMap { isName($0) ? $0 : nil }
  }

  /// A longer word is none of theirs.
  private static func isName(_ text: String) -> Bool {
    (1...100).contains(text.utf8.count) && text.unicodeScalars.allSatisfy { $0 == "_" || $0.isASCIIAlphanumeric }
  }
}

extension Unicode.Scalar {
  fileprivate var isASCIIAlphanumeric: Bool {
    ("0"..."9").contains(self) || ("a"..."z").contains(self) || ("A"..."Z").contains(self)
  }
}
