import CountersignTelemetry

/// Remembers which push service knows a device token, for apps that do not say.
protocol EnvironmentMemory: Sendable {
  /// - Returns: nil when nothing is known, or cannot be read: then it is found out again.
  func environment(of deviceToken: String, app: String) async -> APNsEnvironment?

  /// Remembers it. A failure costs another try the next time.
  func remember(_ environment: APNsEnvironment, of deviceToken: String, app: String, at now: UnixTime) async
}
