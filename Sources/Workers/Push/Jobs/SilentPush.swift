import CountersignMessages
import CountersignTelemetry

/// A push that has been checked and is ready to be sent.
///
/// It holds a device token and a secret: it does not print.
public struct SilentPush: Sendable, Hashable {
  /// The app's bundle ID.
  let app: String
  /// In lower case.
  let deviceToken: String
  /// What the app is known by to APNs.
  let topic: String
  /// JSON.
  let payload: [UInt8]
  /// After this time APNs throws it away.
  let expiration: UnixTime
  /// Whether the job says to which environment the token belongs.
  let isEnvironmentStated: Bool
}

extension SilentPush: CustomStringConvertible, CustomReflectable {
  public var description: String { "<push, \(payload.count) bytes>" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
