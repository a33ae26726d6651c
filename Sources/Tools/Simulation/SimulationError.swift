/// Why a simulator cannot start.
public struct SimulationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What went wrong.
  public struct Code: Sendable, Hashable {
    private enum Value { case cannotListen, invalidSecret }
    private let value: Value
    /// The address cannot be listened on.
    public static let cannotListen = Code(value: .cannotListen)
    /// The webhook's secret, or a key, is none.
    public static let invalidSecret = Code(value: .invalidSecret)
  }

  /// What went wrong.
  public let code: Code
  /// One line, safe to log.
  public let description: String
  /// Whether the same call may succeed later without anybody changing the configuration.
  public var isRetriable: Bool { code == .cannotListen }
}
