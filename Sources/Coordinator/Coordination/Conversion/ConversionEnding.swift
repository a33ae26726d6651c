import CountersignTelemetry

/// How a verification ended for which a message was sent: what the conversion is counted from.
struct ConversionEnding: Sendable, Hashable {
  enum Outcome: Sendable, Hashable {
    /// The code came back.
    case verified
    /// Wrong codes came back.
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
  /// Asker, as ``SubjectKeeper/source(of:)`` tells askers apart; empty for nobody in particular.
  var source: [UInt8] = []
}

extension ConversionEnding {
  /// - Returns: `nil` for a verification that has not ended, and for one that tells nothing of who asks for codes.
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
  /// - Returns: `nil` for what has not ended, and for what tells nothing of who asks for codes:
  ///   - a canceled verification was given up by the service;
  ///   - where no provider is known to have taken a message, or each that was taken is reported as not delivered, there was no code to
  ///     give back: that says something of lanes and networks. Nor does it pay: what networks pay each other for is delivery;
  ///   - nor where the code was lost by a change of the configuration;
  ///   - nor where the command had waited for so long that whoever asked may have gone, unless a code came back.
  init?(
    state: VerificationState, failureCode: String?, messages: [PhoneVerification.MessageProgress], askedLate: Bool
  ) {
    switch state {
    // A code that came back was sent, whatever has been reported of its message.
    case .approved: self = .verified
    case .failed where failureCode == VerificationFailure.codeLost.code: return nil
    case .failed where messages.contains(where: \.reachedSomebody): self = .failed
    case .expired where !askedLate && messages.contains(where: \.reachedSomebody): self = .expired
    case .pending, .sending, .sent, .failed, .expired, .canceled: return nil
    }
  }
}

extension PhoneVerification.MessageProgress {
  /// Whether a provider is known to have taken it, and has not said that it did not arrive.
  fileprivate var reachedSomebody: Bool {
    switch self {
    case .accepted, .delivered: true
    case .outstanding, .refused, .expired, .unknown, .undelivered: false
    }
  }
}
