/// What is wrong with a message that breaks the contract: it becomes a dead letter under this reason.
public struct InvalidMessage: Sendable, Hashable, CustomStringConvertible {
  /// What is wrong, as a word.
  public var code: Code
  /// One sentence for whoever looks at the dead letter; holds no secret.
  public var detail: String

  /// - Parameters:
  ///   - code: What is wrong, as a word.
  ///   - detail: One sentence for whoever looks at the dead letter; holds no secret.
  public init(_ code: Code, _ detail: String) {
    self.code = code
    self.detail = detail
  }

  public var description: String { "\(code): \(detail)" }
}

extension InvalidMessage {
  /// What is wrong, as the header `x-dead-reason` has it. Open, so that a job type can add its own words.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The word: upper case with underscores.
    public let rawValue: String

    /// - Parameter rawValue: The word: upper case with underscores.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    public var description: String { rawValue }

    /// The body is no JSON.
    public static let notJSON = Code("NOT_JSON")
    /// `content_type` is not `application/json`.
    public static let wrongContentType = Code("WRONG_CONTENT_TYPE")
    /// `type` is missing or is not one that this queue takes.
    public static let unknownType = Code("UNKNOWN_TYPE")
    /// `type` is known, its version is not.
    public static let unknownVersion = Code("UNKNOWN_VERSION")
    /// A field that has to be there is not.
    public static let missingField = Code("MISSING_FIELD")
    /// A field has a value that it cannot have.
    public static let invalidField = Code("INVALID_FIELD")
    /// The body is larger than the contract allows.
    public static let bodyTooLarge = Code("BODY_TOO_LARGE")
    /// A sealed field names a key that this worker does not have.
    public static let unknownKey = Code("UNKNOWN_KEY")
    /// A sealed field cannot be opened, or belongs to another message.
    public static let sealMismatch = Code("SEAL_MISMATCH")
    /// There is no `message_id`, so the job cannot be told from its own redelivery.
    public static let missingMessageID = Code("MISSING_MESSAGE_ID")
  }
}
