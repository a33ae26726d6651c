import CountersignCryptography
import CountersignEncoding
import CountersignMessages

/// Document that an issuer publishes of itself (OpenID Connect Discovery 1.0, section 3), as far as accounts needs it.
struct OpenIDDiscovery: Sendable, Hashable {
  /// The reason that a document is not taken.
  enum Problem: Error, Hashable {
    case notJSON, otherIssuer
    case badAddress(String)

    var text: String {
      switch self {
      case .notJSON: "the document is not a JSON object"
      case .otherIssuer: "the document names another issuer than the provider has, which must be the same text"
      case .badAddress(let member): "\(member) of the document is not an address of https://"
      }
    }
  }

  private static let maxAddressBytes = 2048

  let authorizationEndpoint: String?
  let tokenEndpoint: String?
  let userInfoEndpoint: String?
  let keysURL: String
  /// Algorithms of its ID tokens, those that are never taken left out: asymmetric ones that ``VerifyingKey`` has.
  let algorithms: Set<SignatureAlgorithm>
  /// Whether clients send their secrets in the form alone.
  let takesSecretsInForms: Bool
  /// Whether answers of its page name it (RFC 9207).
  let namesItself: Bool

  /// - Parameter allows: whether an address may be called, or a browser led there.
  init(_ body: [UInt8], of issuer: String, allows: (String) -> Bool) throws(Problem) {
    let reader = JSONReader(maxBytes: ProviderNetwork.maxBytes, allowsRepeatedNames: true)
    var members: [String: JSONValue]?
    do throws(JSONRefusal) { members = try reader.value(of: body).members } catch {}
    guard let document = members.map({ ProviderClaims($0) }) else { throw .notJSON }
    guard document.text("issuer")?.utf8.elementsEqual(issuer.utf8) == true else { throw .otherIssuer }
    func address(_ member: String) throws(Problem) -> String? {
      guard let text = document.text(member) else { return nil }
      guard text.utf8.count <= Self.maxAddressBytes, !text.contains("#"),
        text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), allows(text)
      else { throw .badAddress(member) }
      return text
    }
    authorizationEndpoint = try address("authorization_endpoint")
    tokenEndpoint = try address("token_endpoint")
    userInfoEndpoint = try address("userinfo_endpoint")
    guard let keysURL = try address("jwks_uri") else { throw .badAddress("jwks_uri") }
    self.keysURL = keysURL
    let named = document.texts("id_token_signing_alg_values_supported")
    algorithms = named.isEmpty ? [.rs256] : Set(named.compactMap(SignatureAlgorithm.init(rawValue:)))
    let methods = document.texts("token_endpoint_auth_methods_supported")
    takesSecretsInForms = methods.contains("client_secret_post") && !methods.contains("client_secret_basic")
    namesItself = document.isTrue("authorization_response_iss_parameter_supported")
  }
}
