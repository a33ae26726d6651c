import CountersignTelemetry

/// End of a verification for which an SMS was sent. The conversion counts these.
struct ConversionEnding: Sendable, Hashable {
  enum Outcome: Sendable, Hashable {
    case verified
    case failed
    /// No code came back in time.
    case expired
  }

  /// The number without its last four digits.
  var prefix: String
  var region: String
  var outcome: Outcome
  var createdAt: UnixTime
  var endedAt: UnixTime
  /// Asker, as ``LimitSubjects/source(of:)`` distinguishes askers. Empty for an unnamed one.
  var source: [UInt8] = []
}

extension ConversionEnding {
  init?(_ verification: PhoneVerification) {
    guard !verification.isTestNumber, let endedAt = verification.endedAt,
      let outcome = Outcome(
        state: verification.state, failureCode: verification.failure?.code, messages: verification.messages,
        askedLate: verification.askedLate)
    else { return nil }
    self.init(
      prefix: LimitedSend.prefix(of: verification.phoneNumber), region: verification.region, outcome: outcome,
      createdAt: verification.createdAt, endedAt: endedAt, source: verification.source)
  }
}

extension ConversionEnding.Outcome {
  init?(
    state: VerificationState, failureCode: String?, messages: [PhoneVerification.MessageProgress], askedLate: Bool
  ) {
    switch state {
    // A code that came back was sent, whatever the reports about its SMS say.
    case .approved: self = .verified
    case .failed where failureCode == VerificationFailure.codeLost.code: return nil
    case .failed where messages.contains(where: \.reachedSomebody): self = .failed
    case .expired where !askedLate && messages.contains(where: \.reachedSomebody): self = .expired
    case .pending, .sending, .sent, .failed, .expired, .canceled: return nil
    }
  }
}

extension PhoneVerification.MessageProgress {
  /// Whether a provider is known to have accepted it, and has not reported it as undelivered.
  fileprivate var reachedSomebody: Bool {
    switch self {
    case .accepted, .delivered: true
    case .outstanding, .refused, .expired, .unknown, .undelivered: false
    }
  }
}
