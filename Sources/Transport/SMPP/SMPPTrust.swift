/// TLS settings of a connection. The minimum is TLS 1.2.
public struct SMPPTrust: Sendable, Hashable {
  /// PEM file with the authorities to trust; `nil`: the system's.
  public var caFile: String?

  public init(caFile: String? = nil) { self.caFile = caFile }
}
