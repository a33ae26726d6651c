import CountersignTelemetry

/// IDs of jobs: `<owner>.<kind>.<number>`, always the same for a job, so that it is carried out once.
struct JobName: Sendable, Hashable {
  enum Kind: String, Sendable {
    case push, captcha, revoke, notice
  }

  var owner: String
  var kind: Kind

  init(_ owner: String, _ kind: Kind) {
    self.owner = owner
    self.kind = kind
  }

  /// The `message_id`. Each operation has one job of a kind.
  var text: String { owner + suffix }

  private var suffix: String { ".\(kind.rawValue).1" }

  /// - Returns: `nil` for the job of another service.
  init?(parsing text: String, _ kind: Kind) {
    self.init("", kind)
    guard text.hasSuffix(suffix) else { return nil }
    owner = String(text.dropLast(suffix.count))
    guard !owner.isEmpty, owner.utf8.count <= VerificationID.maxLength else { return nil }
  }
}
