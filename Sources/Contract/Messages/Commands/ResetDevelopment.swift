/// Command `development.reset`, in development only: deletes all verifications, and empties the coordinator's limits.
public struct ResetDevelopment: Command {
  public typealias Reply = DevelopmentReset
  public static let type = MessageType("development.reset")

  public init() {}
}

/// Reply to `development.reset`.
public struct DevelopmentReset: MessageBody, Hashable {
  public static let type = MessageType("development.resetDone")

  public init() {}
}
