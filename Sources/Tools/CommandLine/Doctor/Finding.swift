/// Result of one of the doctor's checks.
struct Finding: Sendable, Hashable, Codable {
  /// Severity of a finding.
  enum Status: String, Sendable, Hashable, Codable {
    /// As it should be.
    case ok
    /// Intended, and worth knowing.
    case note
    /// It works, but may stop soon.
    case warning
    /// It does not work.
    case failed
    /// Not checked, because something the check needs is missing.
    case skipped
  }

  /// Subject of the check.
  let check: String
  let status: Status
  /// Observation.
  let detail: String
  /// Way to fix the problem, if there is one.
  let hint: String?

  init(_ check: String, _ status: Status, _ detail: String, hint: String? = nil) {
    self.check = check
    self.status = status
    self.detail = detail
    self.hint = hint
  }
}
