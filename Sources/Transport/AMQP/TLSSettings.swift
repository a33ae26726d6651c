/// Encryption of a connection to the broker, and the authorities it trusts. TLS 1.2 is the minimum.
public struct TLSSettings: Sendable, Hashable {
  /// PEM file with the trusted authorities; the system's if `nil`.
  public var caFile: String?
  /// PEM file with the client's certificate chain, for brokers that require one.
  public var certificateFile: String?
  /// PEM file with the unencrypted key of `certificateFile`.
  public var keyFile: String?
  /// Whether the broker's certificate must be signed by a trusted authority and be valid now. Turn it off for
  /// experiments only.
  public var verifyPeer: Bool
  /// Whether the certificate must name the host (or IP address) of the URL.
  public var verifyHostname: Bool

  public init(
    caFile: String? = nil, certificateFile: String? = nil, keyFile: String? = nil, verifyPeer: Bool = true,
    verifyHostname: Bool = true
  ) {
    self.caFile = caFile
    self.certificateFile = certificateFile
    self.keyFile = keyFile
    self.verifyPeer = verifyPeer
    self.verifyHostname = verifyHostname
  }
}
