public import CountersignTelemetry

/// Command `operator.note`: notes an act of an operator elsewhere, before it is done: on the broker, or in the list of
/// a worker.
///
/// A command of operators, see ``ListConversions``.
public struct NoteAct: Command, Hashable {
  public typealias Reply = ActNoted
  public static let type = MessageType("operator.note")

  /// Word for the act: `dead.redrive`. At most 64 letters, digits, dots and hyphens.
  public var act: String
  /// Its object, at most 256 bytes: a queue. Never a number, an address or a secret.
  public var subject: String?

  public init(act: String, subject: String? = nil) {
    self.act = act
    self.subject = subject
  }
}

/// Reply to `operator.note`.
public struct ActNoted: MessageBody, Hashable {
  public static let type = MessageType("operator.noted")

  public init() {}
}

/// Command `operator.audit`: acts of operators that the coordinator has noted, the latest first.
///
/// A command of operators, see ``ListConversions``. Acts on accounts are those of ``ListActs``.
public struct ListOperatorActs: Command, Hashable {
  public typealias Reply = OperatorActsListed
  public static let type = MessageType("operator.audit")

  /// 1 to 200.
  public var limit: Int
  /// ``OperatorActsListed/next`` of the page before.
  public var after: String?

  public init(limit: Int) {
    self.limit = limit
  }
}

/// Reply to `operator.audit`.
public struct OperatorActsListed: MessageBody, Hashable {
  public static let type = MessageType("operator.actsListed")

  public var acts: [OperatorAct]
  /// Place to go on from, opaque. Absent after the first act.
  public var next: String?

  public init(acts: [OperatorAct]) {
    self.acts = acts
  }
}

/// Act of an operator, as the coordinator has noted it.
public struct OperatorAct: Codable, Sendable, Hashable {
  /// The broker's user.
  public var by: String
  /// The command, `conversion.lift`, or ``NoteAct/act``.
  public var act: String
  /// Its object: the key of a block, a queue.
  public var subject: String?
  public var actedAt: UnixTime

  public init(by: String, act: String, actedAt: UnixTime) {
    self.by = by
    self.act = act
    self.actedAt = actedAt
  }
}
