import CountersignAMQP

/// The publications of one job: a message that must arrive, and perhaps a copy that need not.
struct JobPublications: Sendable {
  /// Maximum attempts of a copy: its requester may be gone.
  static let maxCopyTries = 3

  private(set) var essential: Publication?
  private(set) var copy: Publication?
  private(set) var tries = 0

  init(_ essential: Publication, copy: Publication? = nil) {
    self.essential = essential
    self.copy = copy
  }

  init(copy: Publication) {
    self.copy = copy
  }

  var batch: [Publication] { [essential, copy].compactMap { $0 } }

  /// Pass none when the batch could not be published.
  mutating func take(_ outcomes: [PublishOutcome]) -> PublishOutcome? {
    tries += 1
    var outcomes = outcomes[...]
    var failure: PublishOutcome?
    if essential != nil, let outcome = outcomes.popFirst() {
      if outcome == .confirmed { essential = nil } else { failure = outcome }
    }
    if copy != nil, tries >= Self.maxCopyTries || Self.isOver(outcomes.first) { copy = nil }
    return failure
  }

  /// A copy that was returned has no recipient left.
  private static func isOver(_ outcome: PublishOutcome?) -> Bool {
    switch outcome {
    case .confirmed, .returned: true
    case .nacked, nil: false
    }
  }
}
