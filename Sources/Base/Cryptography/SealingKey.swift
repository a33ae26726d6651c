import CountersignCOpenSSL
import CountersignEncoding

/// Public key on the curve P-256 that texts are sealed to: only the owner of the private key opens them
/// (ECDH-ES, RFC 7518, section 4.6).
public struct PublicSealingKey: Sendable {
  /// Maximum bytes of a key as JSON.
  public static let maxBytes = 1024
  /// The `alg` of such keys, and of what is sealed to them.
  public static let algorithm = "ECDH-ES"

  /// Name of the key in sealed texts (`kid`).
  public let id: String
  let key: PKey
  private let x, y: String

  /// Reads a JSON Web Key of type `EC` on `P-256`: one with a `kid`, without `d`, for encryption if it has `use`, for
  /// `ECDH-ES` if it has `alg`.
  /// - Parameter json: at most 1 KiB, since keys come with messages.
  /// - Throws: ``JOSEError/Code/badKey``, for a point that is not on the curve too.
  public init(jwk json: [UInt8]) throws(JOSEError) {
    guard json.count <= Self.maxBytes else {
      throw JOSEError(.badKey, "the key has more than \(Self.maxBytes) bytes")
    }
    try self.init(AsymmetricJWK(json: json))
  }

  init(_ jwk: AsymmetricJWK) throws(JOSEError) {
    guard jwk.d == nil else {
      throw JOSEError(.badKey, "\(jwk.name) is a private key, and a public one is needed: print it with keys public")
    }
    try self.init(id: jwk.sealingID(), key: jwk.sealingKey(.public))
  }

  init(id: String, key: PKey) throws(JOSEError) {
    self.id = id
    self.key = key
    x = Base64URL.encode(try key.number("qx", count: ECNumbers.length))
    y = Base64URL.encode(try key.number("qy", count: ECNumbers.length))
  }

  /// The key as JSON Web Key, for others.
  public var jwk: String {
    var json = Array("{".utf8)
    json.append(contentsOf: #""kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)","use":"enc","#.utf8)
    json.append(contentsOf: #""alg":"\#(Self.algorithm)","kid":"#.utf8)
    JSONString.append(id, to: &json)
    json.append(UInt8(ascii: "}"))
    return String(decoding: json, as: UTF8.self)
  }

  var ephemeralMembers: String { #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"# }
}

extension PublicSealingKey: Hashable {
  public static func == (left: PublicSealingKey, right: PublicSealingKey) -> Bool {
    left.id == right.id && left.x == right.x && left.y == right.y
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(id)
    hasher.combine(x)
  }
}

extension PublicSealingKey: CustomStringConvertible {
  public var description: String { "PublicSealingKey(\(id))" }
}

/// Private key on the curve P-256 that opens what was sealed to its public key. It is never printed, and erased when
/// the last copy goes away.
public struct PrivateSealingKey: Sendable {
  /// Public part of the key.
  public let publicKey: PublicSealingKey
  let key: PKey

  /// Name of the key in sealed texts (`kid`).
  public var id: String { publicKey.id }

  /// Makes a key from the system's random generator.
  /// - Parameter id: 1 to 128 printable ASCII characters; give each key a new one, a date for instance.
  /// - Throws: ``JOSEError/Code/badKey`` for a name that cannot be used, ``JOSEError/Code/unavailable``.
  public static func generate(id: String) throws(JOSEError) -> PrivateSealingKey {
    try SymmetricKey.checkUsable(id)
    return try PrivateSealingKey(id: id, key: PKey.generateP256())
  }

  /// Reads a JSON Web Key of type `EC` on `P-256` with `d` and `kid`, for encryption if it has `use`, for `ECDH-ES` if
  /// it has `alg`.
  /// - Parameter json: at most 1 KiB.
  /// - Throws: ``JOSEError/Code/badKey``.
  public init(jwk json: [UInt8]) throws(JOSEError) {
    guard json.count <= PublicSealingKey.maxBytes else {
      throw JOSEError(.badKey, "the key has more than \(PublicSealingKey.maxBytes) bytes")
    }
    try self.init(AsymmetricJWK(json: json))
  }

  init(_ jwk: AsymmetricJWK) throws(JOSEError) {
    try jwk.checkType()
    guard jwk.d != nil else {
      throw JOSEError(.badKey, "\(jwk.name) is a public key, and a private one is needed")
    }
    try self.init(id: jwk.sealingID(), key: jwk.sealingKey(.private))
  }

  private init(id: String, key: PKey) throws(JOSEError) {
    self.key = key
    publicKey = try PublicSealingKey(id: id, key: key)
  }

  /// The key as JSON Web Key. It is a secret.
  /// - Throws: ``JOSEError/Code/unavailable``.
  public func jwk() throws(JOSEError) -> String {
    let d = Base64URL.encode(try key.number("priv", count: ECNumbers.length))
    return String(publicKey.jwk.dropLast()) + #","d":"\#(d)"}"#
  }
}

extension PrivateSealingKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "PrivateSealingKey(\(id), <redacted>)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}

extension AsymmetricJWK {
  /// Checks that the key is one on a curve: one that `keys generate` makes without `--sealing` is not.
  fileprivate func checkType() throws(JOSEError) {
    guard kty == "EC" else { throw refuse("has kty \"\(JOSEError.printable(kty))\" instead of \"EC\"") }
  }

  func sealingKey(_ part: PKey.Part) throws(JOSEError) -> PKey {
    try checkType()
    if let problem = KeyPurpose.agreement(part).problem(use: use, operations: operations) { throw refuse(problem) }
    guard alg == nil || alg == PublicSealingKey.algorithm else {
      throw refuse("has alg \"\(JOSEError.printable(alg ?? ""))\" instead of \"\(PublicSealingKey.algorithm)\"")
    }
    let key = try ec(part)
    try key.check(part, name: name)
    return key
  }

  func sealingID() throws(JOSEError) -> String {
    guard let kid else { throw JOSEError(.badKey, "the key has no kid") }
    try SymmetricKey.checkUsable(kid)
    return kid
  }
}
