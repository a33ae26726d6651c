/// Where the text of a program goes, and where its input comes from.
public struct ProgramStreams: Sendable {
  let output: @Sendable (String) -> Void
  let error: @Sendable (String) -> Void
  let input: @Sendable () throws(OperationsError) -> [UInt8]

  /// - Parameters:
  ///   - output: writes text to standard output.
  ///   - error: writes text to standard error.
  ///   - input: reads standard input to its end, at most ``InputFile/maxBytes``.
  public init(
    output: @escaping @Sendable (String) -> Void, error: @escaping @Sendable (String) -> Void,
    input: @escaping @Sendable () throws(OperationsError) -> [UInt8]
  ) {
    self.output = output
    self.error = error
    self.input = input
  }
}
