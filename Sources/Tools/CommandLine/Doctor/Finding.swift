/// What the doctor found about one thing.
struct Finding: Sendable, Hashable, Codable {
  /// How bad it is.
  enum Status: String, Sendable, Hashable, Codable {
    /// As it should be.
    case ok
    /// As it is meant to be, and worth knowing.
    case note
    /// It works, and may not for long.
    case warning
    /// It does not work.
    case failed
    /// It was not looked at, because something it needs is missing.
    case skipped
  }

  /// What was looked at.
  let check: String
  let status: Status
  /// What was found.
  let detail: String
  /// How to mend it, when there is something to mend.
  let mend: String?

  init(_ check: String, _ status: Status, _ detail: String, mend: String? = nil) {
    self.check = check
    self.status = status
    self.detail = detail
    self.mend = mend
  }
}
