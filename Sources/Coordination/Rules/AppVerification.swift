/// How a request is proven to come from an app.
public enum AppVerification: String, Sendable, CaseIterable {
  /// Not at all, for testing: only fictional numbers complete.
  case off
  /// The service that asks vouches for its client.
  case trusted
}
