public import CountersignTelemetry

/// A store in which marks outlive a crash.
public protocol MarkStore: Sendable {
  /// Finds the marks of messages. Unmarked messages are absent.
  func find(_ keys: [MessageKey]) async throws(MarkError) -> [MessageKey: MarkStanding]

  /// Writes the marks of messages before they are processed, in one commit. They replace the marks that were found.
  func write(_ marks: [NewMark], at now: UnixTime) async throws(MarkError)

  /// Records that a message is no longer alone: another one is begun.
  func relax(_ key: MessageKey) async throws(MarkError)

  /// Deletes this process's marks of settled messages.
  func remove(_ keys: [MessageKey]) async throws(MarkError)

  /// Gives back the marks of messages that went back to the queue although they may have been begun.
  func giveBack(_ keys: [MessageKey]) async throws(MarkError)

  /// Gives all marks of this process back at a regular end. Their knowledge of suspects stays.
  func release() async throws(MarkError)

  /// Closes resources that belong to the marks alone.
  func close() async
}

/// Failure of a store of marks. Its description is safe to log.
public struct MarkError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The failure, and its remedy if an operator can fix it.
  public let description: String
  /// Whether waiting may end the failure. Others need other tables or another configuration, and a new start.
  public let isRetriable: Bool

  public init(_ description: String, isRetriable: Bool = false) {
    self.description = description
    self.isRetriable = isRetriable
  }
}

/// A mark to write.
public struct NewMark: Sendable, Hashable {
  /// The message.
  public var key: MessageKey
  /// Sum of the marks that it replaces.
  public var standing: MarkStanding
  /// Whether the process works on nothing else meanwhile.
  public var isAlone: Bool

  public init(key: MessageKey, standing: MarkStanding, isAlone: Bool) {
    self.key = key
    self.standing = standing
    self.isAlone = isAlone
  }
}
