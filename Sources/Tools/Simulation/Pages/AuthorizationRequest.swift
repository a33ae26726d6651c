import CountersignEncoding
import CountersignTelemetry

/// Parameters that a browser brings to the page of a provider (RFC 6749, section 4.1.1).
struct AuthorizationRequest: Sendable {
  let fields: [(name: String, value: String)]

  /// An empty one counts as missing.
  subscript(_ name: String) -> String? {
    fields.first { $0.name == name && !$0.value.isEmpty }?.value
  }

  var hasRepeatedField: Bool { Set(fields.map(\.name)).count < fields.count }
  var clientID: String { self["client_id"] ?? "" }
  var redirectURI: String { self["redirect_uri"] ?? "" }
  var responseTypes: Set<Substring> { Set((self["response_type"] ?? "").split(separator: " ")) }
  /// Separated by spaces, or by commas as Facebook permits.
  var scopes: Set<Substring> { Set((self["scope"] ?? "").split { $0 == " " || $0 == "," }) }

  var isImplicit: Bool { !responseTypes.isDisjoint(with: ["id_token", "token"]) }
  var responseMode: String { self["response_mode"] ?? (isImplicit ? "fragment" : "query") }

  var json: [UInt8] {
    var writer = JSONObjectWriter()
    for field in fields { writer.put(named: field.name, field.value) }
    return writer.finished()
  }
}

/// Request that a page has had, for tests.
struct SeenAuthorization: Sendable {
  let provider: Provider
  let request: AuthorizationRequest
  let receivedAt: UnixTime

  var json: String {
    """
    {"provider":"\(provider.rawValue)","parameters":\(String(decoding: request.json, as: UTF8.self)),\
    "receivedAt":"\(receivedAt.rfc3339)"}
    """
  }
}
