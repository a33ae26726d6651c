/// Something that is wrong with a template file.
public struct TemplateFinding: Sendable, Hashable, CustomStringConvertible {
  /// The file's name, or the directory's where it is about all of them.
  public let file: String
  /// Where in the file: `verification.plain[0]`; empty for the whole.
  public let place: String
  /// What is wrong and what would be right.
  public let problem: String

  public var description: String { place.isEmpty ? "\(file): \(problem)" : "\(file): \(place): \(problem)" }
}
