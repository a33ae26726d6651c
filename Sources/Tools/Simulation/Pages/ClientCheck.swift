import CountersignEncoding
import CountersignTelemetry
import HTTPServer

/// Clients of a provider, which prove themselves with a secret (RFC 6749, section 2.3.1).
struct ClientCheck: Sendable {
  enum Method: String, Sendable, CaseIterable {
    case basic = "client_secret_basic"
    case post = "client_secret_post"
  }

  let secrets: [String: Secret]

  /// ID of the client that a request comes from.
  func client(
    _ request: HTTPServerRequest, _ form: Form, methods: Set<Method> = Set(Method.allCases)
  ) throws(ProviderError) -> String {
    let given = try credentials(request, form)
    guard let given, methods.contains(given.method), let secret = secrets[given.id], secret.matches(given.secret) else {
      throw ProviderError("invalid_client", "Client authentication failed.", status: 401)
    }
    return given.id
  }

  private func credentials(
    _ request: HTTPServerRequest, _ form: Form
  ) throws(ProviderError) -> (method: Method, id: String, secret: String)? {
    guard let field = request.headers["Authorization"] else {
      guard let id = form["client_id"], let secret = form["client_secret"] else { return nil }
      return (.post, id, secret)
    }
    guard form["client_secret"] == nil else {
      throw ProviderError("invalid_request", "The client authenticates itself twice.")
    }
    let words = field.split(separator: " ")
    guard words.count == 2, words[0].lowercased() == "basic", let bytes = Base64.decode(String(words[1])) else {
      return nil
    }
    let parts = bytes.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    let (id, secret) = (Self.decoded(parts[0]), Self.decoded(parts[1]))
    return form["client_id"].map { $0 == id } ?? true ? (.basic, id, secret) : nil
  }

  /// Both are encoded as fields of a form.
  private static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
    FormEncoding.decode([UInt8(ascii: "=")] + bytes).first?.value ?? ""
  }
}
