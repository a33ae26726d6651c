public import CountersignTelemetry
public import SQLite

/// A place in which marks outlive a crash.
public protocol MarkStore: Sendable {
  /// Knowledge of messages; nothing for those without marks.
  func find(_ keys: [MessageKey]) async throws(DatabaseError) -> [MessageKey: MarkStanding]

  /// Writes the marks of messages that are about to be worked on, in one commit. They take the places of what was found.
  func write(_ marks: [NewMark], at now: UnixTime) async throws(DatabaseError)

  /// Takes back that a message is alone: something else is begun beside it.
  func relax(_ key: MessageKey) async throws(DatabaseError)

  /// Deletes this process's marks of messages that are done with.
  func remove(_ keys: [MessageKey]) async throws(DatabaseError)

  /// Gives marks back whose messages went back to the queue although they may have been begun.
  func giveBack(_ keys: [MessageKey]) async throws(DatabaseError)

  /// Gives all marks of this process back: it ends in order. What they say of suspects stays.
  func release() async throws(DatabaseError)

  /// Closes what belongs to the marks alone.
  func close() async
}

/// A mark that is to be written.
public struct NewMark: Sendable, Hashable {
  /// The message.
  public var key: MessageKey
  /// Knowledge of it.
  public var standing: MarkStanding
  /// Whether nothing else is worked on in the process meanwhile.
  public var isAlone: Bool

  /// - Parameters:
  ///   - key: The message.
  ///   - standing: What is known of it.
  ///   - isAlone: Whether nothing else is worked on in the process meanwhile.
  public init(key: MessageKey, standing: MarkStanding, isAlone: Bool) {
    self.key = key
    self.standing = standing
    self.isAlone = isAlone
  }
}
