import CountersignTelemetry

/// What can happen to the proof of an app.
enum AppProofEvent: Sendable, Hashable {
  /// It begins. The first event, and the only time that this one does anything.
  case issued
  /// A worker reported the outcome of the push.
  case pushFinished(PushReport)
  /// Somebody returned the receipt with a secret, which was compared.
  case secretReturned(matches: Bool, app: String)
  /// Apple says that the device's token is gone.
  case tokenUnregistered
  /// The configuration takes back what was issued before a time.
  case withdrawn(issuedBefore: UnixTime)
  /// Its time may be over.
  case deadlinePassed
}

/// What a worker reports about a push.
struct PushReport: Sendable, Hashable {
  var report: JobReport
  /// Which of Apple's services took it: `sandbox` or `production`.
  var environment: String?
}
