import CountersignEncoding
import HTTPServer
import Synchronization

extension HTTPServerRequest {
  /// Issuer of the simulated OpenID provider: the address that the request has gone to.
  var openIDIssuer: String { "http://\(headers["Host"] ?? "localhost")/oidc" }
}

/// Members of discovery (OpenID Connect Discovery, section 3), as far as a test has not ordered others.
final class OpenIDMetadata: Sendable {
  private static let authMethods = "token_endpoint_auth_methods_supported"

  private let changes = Mutex<[String: JSONValue]>([:])

  /// `null` leaves a member out.
  func change(_ members: [String: JSONValue]) { changes.withLock { $0.merge(members) { $1 } } }

  func clear() { changes.withLock { $0 = [:] } }

  func members(issuer: String) -> [String: JSONValue] {
    let usual: [String: JSONValue] = [
      "issuer": .text(issuer), "authorization_endpoint": .text("\(issuer)/authorize"),
      "token_endpoint": .text("\(issuer)/token"), "userinfo_endpoint": .text("\(issuer)/userinfo"),
      "jwks_uri": .text("\(issuer)/keys"), "response_types_supported": Self.texts(OpenIDProfile.responseTypes),
      "response_modes_supported": Self.texts(OpenIDProfile.responseModes),
      "subject_types_supported": Self.texts(["public"]),
      "id_token_signing_alg_values_supported": Self.texts(["RS256"]),
      "scopes_supported": Self.texts(["openid", "email", "profile"]),
      Self.authMethods: Self.texts(ClientCheck.Method.allCases.map(\.rawValue)),
      "code_challenge_methods_supported": Self.texts(["S256"]),
      "authorization_response_iss_parameter_supported": .bool(true),
    ]
    return usual.merging(changes.withLock { $0 }) { $1 }.filter { $0.value != .null }
  }

  /// Without the member it is Basic alone.
  var methods: Set<ClientCheck.Method> {
    guard case .array(let names)? = members(issuer: "")[Self.authMethods] else { return [.basic] }
    return Set(names.compactMap { $0.text.flatMap(ClientCheck.Method.init) })
  }

  private static func texts(_ texts: some Sequence<String>) -> JSONValue { .array(texts.sorted().map { .text($0) }) }
}
