/// A public key that verifies signatures: P-256 for ES256, RSA for RS256.
public struct VerifyingKey: Sendable, CustomStringConvertible {
  /// Name of the key in signed texts (`kid`).
  public let id: String?
  /// The one algorithm it is used with.
  public let algorithm: SignatureAlgorithm
  let key: PKey

  /// Reads a public key as OpenSSL writes it: PEM (`PUBLIC KEY`) or the DER in it. From a private key its public part is taken.
  /// - Parameters:
  ///   - file: what the file holds.
  ///   - id: its name.
  /// - Throws: ``JOSEError/Code/badKey``, ``JOSEError/Code/unavailable``.
  public init(file: [UInt8], id: String? = nil) throws(JOSEError) {
    let name = id.map { "the key \"\(JOSEError.printable($0))\"" } ?? "the key"
    let key = try PKey(file: file, part: .public, name: name)
    self.init(key: key, id: id, algorithm: try key.algorithm(name: name))
  }

  /// Reads a JSON Web Key (RFC 7517) of type `EC` on `P-256`, or `RSA`.
  /// - Parameter json: one key; its `kid` becomes ``id``.
  /// - Throws: ``JOSEError/Code/badKey``, ``JOSEError/Code/unavailable``.
  public init(jwk json: [UInt8]) throws(JOSEError) {
    let jwk = try AsymmetricJWK(json: json)
    let key = try jwk.key(.public)
    self.init(key: key, id: jwk.kid, algorithm: try key.algorithm(name: jwk.name))
  }

  init(key: PKey, id: String?, algorithm: SignatureAlgorithm) {
    self.key = key
    self.id = id
    self.algorithm = algorithm
  }

  public var description: String { "VerifyingKey(\(id ?? "no kid"), \(algorithm.rawValue))" }
}
