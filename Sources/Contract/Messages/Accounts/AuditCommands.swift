public import CountersignTelemetry

/// Command `account.audit`, for operators: acts of administrators and operators, the latest first.
public struct ListActs: Command {
  public typealias Reply = ActsListed
  public static let type = MessageType("account.audit")

  public var project: String
  /// 1 to 200.
  public var limit: Int
  /// ``ActsListed/next`` of the page before.
  public var after: String?

  public init(project: String, limit: Int) {
    self.project = project
    self.limit = limit
  }
}

/// Reply to `account.audit`.
public struct ActsListed: MessageBody, Hashable {
  public static let type = MessageType("account.actsListed")

  public var acts: [AdministratorActed]
  /// Place to go on from, opaque. Absent after the first act.
  public var next: String?

  public init(acts: [AdministratorActed]) {
    self.acts = acts
  }
}

/// Event `account.administered`: an administrator or operator has done something.
public struct AdministratorActed: Event, Hashable {
  public static let type = MessageType("account.administered")

  public var project: String
  /// Address of the service account, or the broker's user.
  public var by: String
  /// Command without `account.`: `create`, `change`. For a list with hashes `export`, once an hour.
  public var act: String
  /// The account that it was about. Absent for a batch.
  public var localID: String?
  /// Number of accounts of a batch.
  public var count: Int?
  /// Anything else that it was about: a provider and its issuer.
  public var subject: String?
  public var actedAt: UnixTime

  public init(project: String, by: String, act: String, actedAt: UnixTime) {
    self.project = project
    self.by = by
    self.act = act
    self.actedAt = actedAt
  }
}
