/// Why a job's template cannot be made into a text. It is the sender's mistake: no later attempt mends it.
struct TemplateProblem: Error, Sendable, Hashable {
  /// What is wrong.
  enum Code: String, Sendable {
    case unknownTemplate = "UNKNOWN_TEMPLATE"
    case missingVariable = "MISSING_VARIABLE"
    case invalidVariable = "INVALID_VARIABLE"
  }

  let code: Code
  /// What is wrong and what would be right; never repeats the value of a variable.
  let detail: String
}
