/// How an app is pushed to.
public struct PushApp: Sendable {
  /// What APNs knows it by; the bundle ID, most often.
  let topic: String
  let payload: PushPayload
  /// The lanes to the two push services; one that is not configured is missing.
  let lanes: [APNsEnvironment: String]
}
