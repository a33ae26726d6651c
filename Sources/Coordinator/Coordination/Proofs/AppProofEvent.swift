import CountersignTelemetry

/// Event in the life of an app's proof.
enum AppProofEvent: Sendable, Hashable {
  /// The receipt is issued. The first event, and effective only once.
  case issued
  /// A worker reported the outcome of the push.
  case pushFinished(PushReport)
  /// A caller returned the receipt with a secret, which was compared.
  case secretReturned(matches: Bool, app: String)
  /// Apple reported the device's token as unregistered.
  case tokenUnregistered
  /// The configuration revokes all receipts issued before a time.
  case withdrawn(issuedBefore: UnixTime)
  /// The deadline may have passed.
  case deadlinePassed
}

/// A worker's report on a push.
struct PushReport: Sendable, Hashable {
  var report: JobReport
  /// The Apple service that accepted it: `sandbox` or `production`.
  var environment: String?
}
