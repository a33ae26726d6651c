/// Why a job's template cannot be made into a text. It is the sender's mistake: no later attempt mends it.
public struct TemplateProblem: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong.
  public enum Code: String, Sendable {
    case unknownTemplate = "UNKNOWN_TEMPLATE"
    case missingVariable = "MISSING_VARIABLE"
    case invalidVariable = "INVALID_VARIABLE"
  }

  public let code: Code
  /// What is wrong and what would be right; never repeats the value of a variable.
  public let detail: String

  /// Safe to log.
  public var description: String { "\(code.rawValue): \(detail)" }
}
