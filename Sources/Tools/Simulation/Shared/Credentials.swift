import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry

extension Secret {
  /// Takes the same time for every text of a length.
  func matches(_ given: String?) -> Bool { constantTimeEquals(Array((given ?? "").utf8), Array(reveal().utf8)) }
}

/// RFC 7519, section 4.1. Times are whole seconds, as Apple requires.
struct TokenClaims: Decodable, Sendable {
  let iss: String?
  let sub: String?
  let aud: String?
  let iat: Int64?
  let exp: Int64?
  let scope: String?
}

/// ES256 only.
struct TokenKeys: Sendable {
  private let keys: [VerifyingKey]

  init(_ keys: [String: Secret]) throws(SimulationError) {
    self.keys = try keys.map { id, file throws(SimulationError) in try Self.key(id, file) }
  }

  private static func key(_ id: String, _ file: Secret) throws(SimulationError) -> VerifyingKey {
    let key: VerifyingKey
    do { key = try VerifyingKey(file: Array(file.reveal().utf8), id: id) } catch { throw invalid(error.description) }
    guard key.algorithm == .es256 else { throw invalid("the key \(id) is not on the curve P-256") }
    return key
  }

  /// `nil` unless the signature is valid and names its key.
  func verify(_ token: String) -> (keyID: String, claims: TokenClaims)? {
    for key in keys {
      // Signed with another key, or not at all: Apple does not distinguish, and the next key may match.
      guard let (header, payload) = try? JWS.verify(token, with: key), let keyID = header["kid"] else { continue }
      // Claims of other types count as missing, and are refused without a reason.
      guard let claims = try? JSONReader.requests.decode(TokenClaims.self, from: payload) else { return nil }
      return (keyID, claims)
    }
    return nil
  }

  private static func invalid(_ description: String) -> SimulationError {
    SimulationError(code: .invalidSecret, description: description)
  }
}
