/// Which of Apple's push services a device token belongs to.
public enum PushEnvironment: String, ContractWord {
  /// That of apps signed for development.
  case sandbox
  /// That of the App Store, TestFlight and ad-hoc builds.
  case production
  /// The app did not say: the worker finds out, and remembers it.
  case unknown
}
