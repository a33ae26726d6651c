public import CountersignTelemetry
import RecordStore

/// A store in which marks outlive a crash.
public protocol MarkStore: Sendable {
  /// Finds the marks of messages. Unmarked messages are absent.
  func find(_ keys: [MessageKey]) async throws(StoreError) -> [MessageKey: MarkStanding]

  /// Writes the marks of messages before they are processed, in one commit. They replace the marks that were found.
  func write(_ marks: [NewMark], at now: UnixTime) async throws(StoreError)

  /// Records that a message is no longer alone: another one is begun.
  func relax(_ key: MessageKey) async throws(StoreError)

  /// Deletes this process's marks of settled messages.
  func remove(_ keys: [MessageKey]) async throws(StoreError)

  /// Gives back the marks of messages that went back to the queue although they may have been begun.
  func giveBack(_ keys: [MessageKey]) async throws(StoreError)

  /// Gives all marks of this process back at a regular end. Their knowledge of suspects stays.
  func release() async throws(StoreError)

  /// Closes resources that belong to the marks alone.
  func close() async
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
