import CountersignCryptography
import CountersignEncoding

/// Profile of a provider with a page, and the rules of the page.
protocol PageProfile: TokenProfile {
  /// Name of the page in faults.
  static var page: Provider { get }
  /// With the words of each in the order of the alphabet.
  static var responseTypes: Set<String> { get }
  static var responseModes: Set<String> { get }

  /// Somebody of whom nothing is known.
  init(clientID: String)

  /// Error (RFC 6749, section 4.1.2.1) that the browser is led back with for a request that the provider's own rules
  /// refuse.
  static func problem(_ request: AuthorizationRequest) -> ProviderError?

  /// The part of it that the scopes give away.
  func limited(to scopes: Set<Substring>) -> Self

  /// Fields of an answer that this provider alone has.
  ///
  /// - Parameter isFirst: whether the user has met this client never before.
  func additions(_ request: AuthorizationRequest, _ form: TokenForm, isFirst: Bool) -> [(name: String, value: String)]
}

extension PageProfile {
  static var responseModes: Set<String> { ["query", "fragment", "form_post"] }

  static func problem(_ request: AuthorizationRequest) -> ProviderError? { nil }

  func limited(to scopes: Set<Substring>) -> Self { self }

  func additions(_ request: AuthorizationRequest, _ form: TokenForm, isFirst: Bool) -> [(name: String, value: String)] {
    []
  }
}

/// Body of `POST /control/{provider}/users`: the user who consents next.
struct PageOrder<Profile: PageProfile>: ControlOrder, Sendable {
  private struct Terms: Decodable {
    let error: String?
    let userinfoSubject: String?
    let loginHint: String?
  }

  static var fields: Set<String> { TokenOrder<Profile>.fields.union(["error", "userinfoSubject", "loginHint"]) }
  private static var maxErrorBytes: Int { 64 }

  let token: TokenOrder<Profile>
  /// Error that the page leads back with.
  let error: String?
  /// User whom the access token is of.
  let userinfoSubject: String?
  /// `login_hint` of the only requests that it is for.
  let loginHint: String?

  init(from decoder: any Decoder) throws {
    token = try TokenOrder(from: decoder)
    let terms = try Terms(from: decoder)
    (error, userinfoSubject, loginHint) = (terms.error, terms.userinfoSubject, terms.loginHint)
  }

  /// A user without an order.
  init(_ request: AuthorizationRequest) {
    let address = request["login_hint"].flatMap { $0.contains("@") ? $0 : nil }
    token = TokenOrder(
      form: TokenForm(subject: Hexadecimal.encode(SecureRandom.bytes(16)), email: address),
      profile: Profile(clientID: request.clientID))
    (error, userinfoSubject, loginHint) = (nil, nil, nil)
  }

  func check() throws(ControlProblem) {
    try token.check()
    try Self.require(error?.utf8.count, in: 1...Self.maxErrorBytes, "the length of error")
  }
}
