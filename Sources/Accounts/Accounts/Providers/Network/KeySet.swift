import CountersignCryptography
import CountersignEncoding
import HTTPClient

/// Keys that an issuer publishes as a JWK set (RFC 7517), as far as they verify with RS256, and how long they count.
struct KeySet: Sendable {
  /// The most keys that are taken. Issuers publish two to five.
  static let maxKeys = 64
  static let maxKeyIDBytes = 256
  /// Bounds of the life that an issuer may give its keys.
  static let life = (shortest: Duration.seconds(60), usual: Duration.seconds(3600), longest: Duration.seconds(86_400))

  let keys: [String: VerifyingKey]
  let life: Duration

  /// `nil` where no key can be used.
  init?(_ response: HTTPResponse) {
    let reader = JSONReader(maxBytes: ProviderNetwork.maxBytes)
    let set: JSONValue
    do throws(JSONRefusal) { set = try reader.value(of: response.body) } catch { return nil }
    guard case .array(let values)? = set.members?["keys"] else { return nil }
    let keys = values.prefix(Self.maxKeys).compactMap(Self.key)
    guard !keys.isEmpty else { return nil }
    self.keys = Dictionary(keys, uniquingKeysWith: { first, _ in first })
    life = Self.life(response.headers["Cache-Control"])
  }

  /// Keys of other kinds are left out: sets may grow.
  private static func key(_ value: JSONValue) -> (String, VerifyingKey)? {
    guard let id = value.members?["kid"]?.text, (1...maxKeyIDBytes).contains(id.utf8.count) else { return nil }
    do throws(JOSEError) {
      let key = try VerifyingKey(jwk: Array(value.json().utf8))
      return key.algorithm == .rs256 ? (id, key) : nil
    } catch {
      return nil
    }
  }

  private static func life(_ cacheControl: String?) -> Duration {
    let directives = (cacheControl ?? "").lowercased().split { $0 == "," || $0 == " " }
    if directives.contains("no-store") || directives.contains("no-cache") { return life.shortest }
    guard let age = directives.first(where: { $0.hasPrefix("max-age=") }).flatMap({ Int32($0.dropFirst(8)) }) else {
      return life.usual
    }
    return min(life.longest, max(life.shortest, .seconds(age)))
  }
}
