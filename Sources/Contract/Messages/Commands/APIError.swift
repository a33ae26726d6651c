/// Why a command failed.
public struct APIError: Error, Codable, Sendable, Hashable {
  /// What went wrong, for programs.
  public var code: APIErrorCode
  /// What was wrong and what to do about it, for people. Never repeats a secret.
  public var message: String
  /// The field it is about, if it is one.
  public var field: String?
  /// After how many seconds trying again makes sense; absent when waiting does not help.
  public var retryAfter: Int?
  /// Tells apart what shares a code: upper case with underscores, such as `RECEIPT_EXPIRED`.
  public var reason: String?
  /// Number of wrong codes that are left, with ``APIErrorCode/invalidCode``.
  public var attemptsLeft: Int?

  /// - Parameters:
  ///   - code: what went wrong, for programs.
  ///   - message: what was wrong and what to do about it; must not repeat a secret.
  ///   - field: the field it is about.
  ///   - retryAfter: seconds, from 1.
  ///   - reason: tells apart what shares a code.
  ///   - attemptsLeft: how many wrong codes are left.
  public init(
    _ code: APIErrorCode, _ message: String, field: String? = nil, retryAfter: Int? = nil, reason: String? = nil,
    attemptsLeft: Int? = nil
  ) {
    self.code = code
    self.message = message
    self.field = field
    self.retryAfter = retryAfter
    self.reason = reason
    self.attemptsLeft = attemptsLeft
  }

  /// The error of a command that breaks the contract.
  public init(_ problem: ContractProblem) {
    self.init(.invalidArgument, problem.description, field: problem.field)
  }

  /// Whether the same command may succeed later.
  public var isRetriable: Bool { retryAfter != nil || code == .internalError }
}

extension APIError: CustomStringConvertible {
  public var description: String { "\(code): \(message)" }
}

/// The reply to a command that failed.
public struct ErrorReply: MessageBody, Hashable {
  public static let type = MessageType("error")

  public var error: APIError

  public init(_ error: APIError) {
    self.error = error
  }
}
