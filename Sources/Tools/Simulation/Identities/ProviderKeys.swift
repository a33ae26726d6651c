import CountersignCryptography
import CountersignEncoding
import Synchronization

/// RSA keys that a provider's ID tokens are signed with, the newest last. The first is made when it is needed.
final class ProviderKeys: Sendable {
  /// A key ID is 10 characters, as Apple's.
  private static let idBytes = 5
  private static let modulusBytes = 256
  private static let maxKeys = 8

  private struct State {
    var keys: [SigningKey] = []
    /// Number of keys in the set that nothing is signed with.
    var strangers = 0
  }

  private let state = Mutex(State())

  func sign(_ claims: [UInt8], _ form: TokenForm) throws(JOSEError) -> String {
    let key = try state.withLock { state throws(JOSEError) in try Self.newest(&state) }
    let id = form.keyID ?? key.id ?? ""
    switch form.signature {
    case nil where form.keyID == nil: return try JWS.sign(claims, with: key)
    case nil: return try JWS.sign(claims, with: SigningKey(file: key.pkcs8(), id: id))
    case .foreign: return try JWS.sign(claims, with: SigningKey.generateRSA(id: id))
    case .some(.none): return Self.signed(claims, algorithm: "none", id) + "."
    case .hs256:
      let signed = Self.signed(claims, algorithm: "HS256", id)
      let secret = Array((key.verifying.rsaComponents?.n ?? "").utf8)
      return signed + "." + Base64URL.encode(HMACSHA256.authenticate(Array(signed.utf8), key: secret))
    }
  }

  /// Returns the IDs of the keys that are published then.
  func change(_ order: KeysOrder) throws(JOSEError) -> [String] {
    try state.withLock { state throws(JOSEError) in
      _ = try Self.newest(&state)
      if order.rotate == true {
        if order.keepOld != true { state.keys = [] }
        state.keys.append(try Self.make())
        state.keys = state.keys.suffix(Self.maxKeys)
      }
      if let strangers = order.strangers { state.strangers = strangers }
      return state.keys.compactMap(\.id)
    }
  }

  /// JSON Web Key Set (RFC 7517).
  func set() throws(JOSEError) -> String {
    let (keys, strangers) = try state.withLock { state throws(JOSEError) in
      _ = try Self.newest(&state)
      return (state.keys, state.strangers)
    }
    var members = keys.compactMap { key in
      key.verifying.rsaComponents.map { Self.member(key.id ?? "", n: $0.n, e: $0.e) }
    }
    for _ in 0..<strangers {
      var modulus = SecureRandom.bytes(Self.modulusBytes)
      modulus[0] |= 0x80
      modulus[modulus.count - 1] |= 1
      members.insert(Self.member(Self.freshID(), n: Base64URL.encode(modulus), e: "AQAB"), at: 0)
    }
    return "{\"keys\":[\(members.joined(separator: ","))]}"
  }

  private static func newest(_ state: inout State) throws(JOSEError) -> SigningKey {
    if let key = state.keys.last { return key }
    let key = try make()
    state.keys = [key]
    return key
  }

  private static func make() throws(JOSEError) -> SigningKey { try SigningKey.generateRSA(id: freshID()) }

  private static func freshID() -> String { Hexadecimal.encode(SecureRandom.bytes(idBytes)) }

  private static func member(_ id: String, n: String, e: String) -> String {
    "{\"kty\":\"RSA\",\"kid\":\"\(id)\",\"use\":\"sig\",\"alg\":\"RS256\",\"n\":\"\(n)\",\"e\":\"\(e)\"}"
  }

  private static func signed(_ claims: [UInt8], algorithm: String, _ id: String) -> String {
    let header = "{\"alg\":\"\(algorithm)\",\"kid\":\(JSONString.quote(id)),\"typ\":\"JWT\"}"
    return Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(claims)
  }
}

/// Body of `POST /control/{provider}/keys`.
struct KeysOrder: ControlOrder {
  static let fields: Set<String> = ["rotate", "keepOld", "strangers"]
  private static let maxStrangers = 2_000

  let rotate: Bool?
  let keepOld: Bool?
  let strangers: Int?

  func check() throws(ControlProblem) { try Self.require(strangers, in: 0...Self.maxStrangers, "strangers") }
}
