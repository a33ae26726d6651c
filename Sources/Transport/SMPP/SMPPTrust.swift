/// How a connection to a server is encrypted and whom it trusts. TLS 1.2 is the least that is accepted.
public struct SMPPTrust: Sendable, Hashable {
  /// PEM file with the authorities to trust; the system's own when `nil`.
  public var caFile: String?

  public init(caFile: String? = nil) { self.caFile = caFile }
}
