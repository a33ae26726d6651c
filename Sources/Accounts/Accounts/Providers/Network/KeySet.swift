import CountersignCryptography
import CountersignEncoding
import HTTPClient

/// Keys that an issuer publishes as a JWK set (RFC 7517), as far as their algorithms are taken, and how long they count.
struct KeySet: Sendable {
  /// The most keys that are taken. Issuers publish two to five.
  static let maxKeys = 64
  static let maxKeyIDBytes = 256

  /// By their IDs. A set of one key may leave its ID out (OpenID Connect Core 1.0, section 10.1): it is empty here.
  let keys: [String: VerifyingKey]
  let life: Duration

  /// `nil` where no key can be used.
  init?(_ response: HTTPResponse, algorithms: Set<SignatureAlgorithm> = [.rs256]) {
    let reader = JSONReader(maxBytes: ProviderNetwork.maxBytes)
    let set: JSONValue
    do throws(JSONRefusal) { set = try reader.value(of: response.body) } catch { return nil }
    guard case .array(let values)? = set.members?["keys"] else { return nil }
    let keys = values.prefix(Self.maxKeys).compactMap { Self.key($0, algorithms) }
    guard !keys.isEmpty else { return nil }
    self.keys = Dictionary(keys, uniquingKeysWith: { first, _ in first })
    life = FetchRules.life(response.headers["Cache-Control"])
  }

  /// Keys of other kinds are left out: sets may grow.
  private static func key(_ value: JSONValue, _ algorithms: Set<SignatureAlgorithm>) -> (String, VerifyingKey)? {
    let id = value.members?["kid"]?.text ?? ""
    guard id.utf8.count <= maxKeyIDBytes else { return nil }
    do throws(JOSEError) {
      let key = try VerifyingKey(jwk: Array(value.json().utf8))
      return algorithms.contains(key.algorithm) ? (id, key) : nil
    } catch {
      return nil
    }
  }
}
