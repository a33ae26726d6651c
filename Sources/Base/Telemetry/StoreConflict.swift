/// Reason to read again: another writer changed what a transaction rests on. Its description is safe to log.
public struct StoreConflict: Sendable, Hashable, CustomStringConvertible {
  /// The kind of the competition, for metrics.
  public let label: String
  private let text: String
  private let subject: String

  public init(_ label: String, _ text: String, _ subject: String = "") {
    self.label = label
    self.text = text
    self.subject = subject
  }

  public var description: String { text + subject }
}
