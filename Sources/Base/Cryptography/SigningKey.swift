import CountersignEncoding

/// A private key that signs: P-256 for ES256, RSA for RS256. It is never printed, and erased when the last copy goes
/// away.
public struct SigningKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The largest file with a key in bytes.
  public static let maxFileBytes = 65_536

  /// Name of the key in signed texts (`kid`).
  public let id: String?
  /// Signature algorithm of the key.
  public let algorithm: SignatureAlgorithm
  let key: PKey

  /// Reads a key as OpenSSL and Apple write it: PEM (`PRIVATE KEY`, which is what a `.p8` file has; `EC PRIVATE KEY`;
  /// `RSA PRIVATE KEY`) or the DER in it. A key under a password is not taken.
  /// - Parameters:
  ///   - file: what the file holds.
  ///   - id: what signed texts name the key by; nil leaves it out.
  /// - Throws: ``JOSEError/Code/badKey``, ``JOSEError/Code/unavailable``.
  public init(file: [UInt8], id: String? = nil) throws(JOSEError) {
    try self.init(key: PKey(file: file, part: .private, name: Self.name(id)), id: id)
  }

  /// Reads a JSON Web Key (RFC 7517) of type `EC` on `P-256`, or `RSA` with its two primes.
  /// - Parameter json: one key; its `kid` becomes ``id``.
  /// - Throws: ``JOSEError/Code/badKey``, ``JOSEError/Code/unavailable``.
  public init(jwk json: [UInt8]) throws(JOSEError) {
    let jwk = try AsymmetricJWK(json: json)
    try self.init(key: jwk.key(.private), id: jwk.kid)
  }

  /// Makes an RSA key from the system's random generator, which takes a tenth of a second and more.
  /// - Parameters:
  ///   - bits: 2048 to 8192.
  ///   - id: what signed texts name the key by.
  /// - Throws: ``JOSEError/Code/badKey`` for another number of bits, ``JOSEError/Code/unavailable``.
  public static func generateRSA(bits: Int = 2048, id: String) throws(JOSEError) -> SigningKey {
    try SigningKey(key: PKey.generateRSA(bits: bits), id: id)
  }

  /// Reads what ``pkcs8()`` wrote and was kept where it could not be changed: its numbers are not checked again, which
  /// takes as long as making an RSA key.
  /// - Parameters:
  ///   - pkcs8: the key in PKCS #8, as DER.
  ///   - id: what signed texts name the key by.
  /// - Throws: ``JOSEError/Code/badKey``, ``JOSEError/Code/unavailable``.
  package init(pkcs8: [UInt8], id: String) throws(JOSEError) {
    try self.init(key: PKey(unchecked: pkcs8, part: .private, name: Self.name(id)), id: id)
  }

  private init(key: PKey, id: String?) throws(JOSEError) {
    self.key = key
    self.id = id
    algorithm = try key.algorithm(name: Self.name(id))
  }

  /// The key as PKCS #8 in DER, which ``init(pkcs8:id:)`` reads. It is a secret.
  /// - Throws: ``JOSEError/Code/unavailable``.
  package func pkcs8() throws(JOSEError) -> [UInt8] { try key.pkcs8() }

  /// The key that verifies what this one signed.
  public var verifying: VerifyingKey { VerifyingKey(key: key, id: id, algorithm: algorithm) }

  public var description: String { "SigningKey(\(id ?? "no kid"), \(algorithm.rawValue), <redacted>)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["id": id as Any, "algorithm": algorithm]) }

  private static func name(_ id: String?) -> String {
    id.map { "the key \"\(JOSEError.printable($0))\"" } ?? "the key"
  }
}

/// A public key that verifies signatures: P-256 for ES256, RSA for RS256.
public struct VerifyingKey: Sendable, CustomStringConvertible {
  /// Name of the key in signed texts (`kid`).
  public let id: String?
  /// The one algorithm it is used with.
  public let algorithm: SignatureAlgorithm
  let key: PKey

  /// Reads a public key as OpenSSL writes it: PEM (`PUBLIC KEY`) or the DER in it. From a private key its public part
  /// is taken.
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

  /// Modulus and exponent in base64url, as a JSON Web Key has them. `nil` for a key of another type.
  public var rsaComponents: (n: String, e: String)? {
    // OpenSSL has both numbers of every RSA key; without one the key cannot be published, and the caller says so.
    guard algorithm == .rs256, let n = try? key.number("n"), let e = try? key.number("e") else { return nil }
    return (Base64URL.encode(n), Base64URL.encode(e))
  }

  public var description: String { "VerifyingKey(\(id ?? "no kid"), \(algorithm.rawValue))" }
}
