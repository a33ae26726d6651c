import CountersignMessages

/// One of Apple's two push services. A device token is known to one of them.
enum APNsEnvironment: String, Sendable, Hashable, CaseIterable {
  case production, sandbox

  /// Where Apple has it.
  var host: String {
    switch self {
    case .production: "https://api.push.apple.com"
    case .sandbox: "https://api.sandbox.push.apple.com"
    }
  }

  /// nil: the job does not say.
  init?(_ environment: PushEnvironment) {
    switch environment {
    case .production: self = .production
    case .sandbox: self = .sandbox
    case .unknown: return nil
    }
  }
}
