/// Failure to start a server.
public struct HTTPServerError: Error, Sendable, CustomStringConvertible {
  /// Kind of failure.
  public struct Code: Sendable, Hashable {
    private enum Value { case portInUse, addressNotAvailable, permissionDenied, hostNotFound, failed }
    private let value: Value

    /// Another process listens on that port.
    public static let portInUse = Code(value: .portInUse)
    /// The host has no interface with that address.
    public static let addressNotAvailable = Code(value: .addressNotAvailable)
    /// A port below 1024 needs a privilege that this process lacks.
    public static let permissionDenied = Code(value: .permissionDenied)
    /// The name of the host could not be resolved.
    public static let hostNotFound = Code(value: .hostNotFound)
    /// Anything else: no descriptors left, no memory, …
    public static let failed = Code(value: .failed)
  }

  /// Kind of failure.
  public let code: Code
  /// One line with host and port, safe to log.
  public let description: String
  /// Whether the same call may succeed later without anybody changing the configuration.
  public var isRetriable: Bool { code == .portInUse || code == .failed }
}
