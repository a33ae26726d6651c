/// A benchmark could not be carried out to its end.
public struct BenchmarkError: Error, Sendable, CustomStringConvertible {
  /// What went wrong and what to mend; safe to print.
  public let description: String

  init(_ description: String) {
    self.description = description
  }
}
