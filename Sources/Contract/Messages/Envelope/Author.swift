/// Publisher: a program, as a user of the broker.
public struct Author: Sendable, Hashable {
  /// The program; the `app_id` of its messages.
  public var appID: String
  /// The user of its connections; the `user_id` of its messages, which the broker checks.
  public var userID: String

  public init(appID: String, userID: String) {
    self.appID = appID
    self.userID = userID
  }
}
