import CountersignAMQP

/// What is to be published for one job: a message that must arrive, and perhaps a copy that need not.
struct Consignment: Sendable {
  /// A copy is for a requester, who may be gone: it is worth fewer tries.
  static let maximumCopyTries = 3

  private(set) var essential: Publication?
  private(set) var copy: Publication?
  /// How often it was tried.
  private(set) var tries = 0

  init(_ essential: Publication, copy: Publication? = nil) {
    self.essential = essential
    self.copy = copy
  }

  /// A copy alone.
  init(copy: Publication) {
    self.copy = copy
  }

  /// What is still to be published.
  var batch: [Publication] { [essential, copy].compactMap { $0 } }

  /// Takes what the broker made of the batch; nothing, when it could not be published.
  /// - Returns: Why the essential message did not arrive.
  mutating func take(_ outcomes: [PublishOutcome]) -> PublishOutcome? {
    tries += 1
    var outcomes = outcomes[...]
    var failure: PublishOutcome?
    if essential != nil, let outcome = outcomes.popFirst() {
      if outcome == .confirmed { essential = nil } else { failure = outcome }
    }
    if copy != nil, tries >= Self.maximumCopyTries || Self.isOver(outcomes.first) { copy = nil }
    return failure
  }

  /// A copy that was returned has nobody who waits for it any more.
  private static func isOver(_ outcome: PublishOutcome?) -> Bool {
    switch outcome {
    case .confirmed, .returned: true
    case .nacked, nil: false
    }
  }
}
