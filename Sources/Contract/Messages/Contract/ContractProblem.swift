/// Problem of a message that breaks the contract. Its texts never hold a value of the message.
public struct ContractProblem: Error, Sendable, Hashable {
  /// Kind of a problem, a word that programs match on.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// Upper case with underscores. Also the value of the header `x-dead-reason`.
    public let rawValue: String

    public init(_ rawValue: String) {
      self.rawValue = rawValue
    }

    public var description: String { rawValue }

    /// The body is not JSON, or not an object.
    public static let notJSON = Code("NOT_JSON")
    /// `content_type` is not `application/json`.
    public static let wrongContentType = Code("WRONG_CONTENT_TYPE")
    /// `type` is missing, malformed or not accepted by the receiver.
    public static let unknownType = Code("UNKNOWN_TYPE")
    /// `type` is known, but its version is not.
    public static let unknownVersion = Code("UNKNOWN_VERSION")
    /// A required field is missing.
    public static let missingField = Code("MISSING_FIELD")
    /// A field has an invalid value.
    public static let invalidField = Code("INVALID_FIELD")
    /// The body is larger than ``MessageLimits/maxBodyBytes``.
    public static let bodyTooLarge = Code("BODY_TOO_LARGE")
    /// `message_id` is missing, so a redelivery cannot be recognized.
    public static let missingMessageID = Code("MISSING_MESSAGE_ID")
  }

  public let code: Code
  /// Field at fault, if there is one: `variables.code`, `timeline[0].at`, `content_type`.
  public let field: String?
  /// Problem in words that follow the name of the field: `is missing`.
  public let detail: String

  public init(_ code: Code, field: String? = nil, _ detail: String) {
    self.code = code
    self.field = field
    self.detail = detail
  }

  /// The same message fails again.
  public var isRetriable: Bool { false }
}

extension ContractProblem: CustomStringConvertible {
  /// `variables.code is missing`. Safe to log and to send back.
  public var description: String {
    if let field { "\(field) \(detail)" } else { detail }
  }
}
