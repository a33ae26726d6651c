import CountersignEncoding
import CountersignMessages

extension IDPCredential {
  /// Maximum bytes of `postBody`: an ID token, an access token and a name.
  static let maxPostBodyBytes = 32 * 1024
  /// Maximum number of fields of `postBody`. SDKs send up to seven.
  static let maxPostBodyFields = 50

  /// Reads the credential of `signInWithIdp`: a pending token, the answer of a provider's page in `requestUri`, or what
  /// `postBody` holds, a form in a text. A pending token alone counts.
  init(_ body: CallBody) throws(ProtocolError) {
    let address = try Self.requestURI(body)
    if let token = try body.secret("pendingToken", else: "INVALID_PENDING_TOKEN") {
      self.init()
      pendingToken = token
      return
    }
    let fields = try Self.postBody(body)
    if let answer = try PageAnswer(address, fields) {
      try self.init(answer, sessionID: try body.word("sessionId", else: "INVALID_IDP_RESPONSE"))
      return
    }
    self.init(providerID: try fields.word("providerId", else: "INVALID_PROVIDER_ID"))
    idToken = try fields.secret("idToken", else: "INVALID_IDP_RESPONSE")
    accessToken = try fields.secret("accessToken", else: "INVALID_IDP_RESPONSE")
    nonce = try fields.word("nonce", else: "MISSING_OR_INVALID_NONCE")
    user = try fields.secret("user", else: "INVALID_IDP_RESPONSE")
    guard providerID != nil, idToken != nil || accessToken != nil else { throw .noCredential }
  }

  private init(_ answer: PageAnswer, sessionID: String?) throws(ProtocolError) {
    self.init(providerID: try answer.word("providerId", else: "INVALID_PROVIDER_ID"))
    code = try answer.secret("code")
    state = try answer.secret("state")
    issuer = try answer.secret("iss")
    idToken = try answer.secret("idToken")
    accessToken = try answer.secret("accessToken")
    user = try answer.secret("user")
    redirectURI = answer.address
    self.sessionID = sessionID
  }

  /// Address that the provider has led back to. That of an app without pages is made up.
  private static func requestURI(_ body: CallBody) throws(ProtocolError) -> String {
    let address = try body.secret("requestUri", else: "INVALID_REQUEST_URI", missing: "MISSING_REQUEST_URI")
    guard address.contains("://") else { throw .account("INVALID_REQUEST_URI") }
    return address
  }

  /// Whether a token of it is none of a provider's, but one that test suites for the emulator write: claims as JSON
  /// text, or a token with the algorithm `none`.
  var isUnsigned: Bool { [idToken, accessToken].contains { $0.map(Self.isUnsigned) ?? false } }

  static func isUnsigned(_ token: String) -> Bool {
    guard !token.hasPrefix("{") else { return true }
    guard let header = token.split(separator: ".").first.flatMap({ Base64URL.decode(String($0)) }) else { return false }
    do throws(JSONRefusal) {
      return try JSONReader(maxBytes: maxPostBodyBytes).value(of: header).members?["alg"]?.text == "none"
    } catch {
      return false
    }
  }

  private static func postBody(_ body: CallBody) throws(ProtocolError) -> CallBody {
    let text = try body.text("postBody") ?? ""
    guard text.utf8.count <= maxPostBodyBytes else { throw .noCredential }
    return try CallBody(encoded: Array(text.utf8), maxFields: maxPostBodyFields)
  }
}

/// Answer of a provider's page: what query and fragment of the address have that it led back to, and a form.
private struct PageAnswer {
  /// Without query and fragment.
  let address: String
  private let parts: [CallBody]

  /// - Returns: `nil` where a credential comes from elsewhere.
  /// - Throws: the error of a page whose provider has refused, or whose answer belongs to no flow.
  init?(_ address: String, _ form: CallBody) throws(ProtocolError) {
    let fragment = address.drop { $0 != "#" }
    let rest = address.dropLast(fragment.count)
    let page = rest.prefix { $0 != "?" }
    self.address = String(page)
    var parts = [form]
    for part in [rest.dropFirst(page.count), fragment] {
      parts.append(
        try CallBody(encoded: Array(part.dropFirst().utf8), maxFields: IDPCredential.maxPostBodyFields))
    }
    self.parts = parts
    guard has("state") else {
      // A code that no flow of this project asked for.
      guard !has("code") else { throw .account("INVALID_IDP_RESPONSE", "The answer of the page lacks its state.") }
      return nil
    }
    if let error = try secret("error") { throw Self.refusal(error) }
  }

  func secret(_ name: String) throws(ProtocolError) -> String? {
    try part(name)?.secret(name, else: "INVALID_IDP_RESPONSE")
  }

  func word(_ name: String, else code: String) throws(ProtocolError) -> String? {
    try part(name)?.word(name, else: code)
  }

  private func has(_ name: String) -> Bool { part(name) != nil }

  private func part(_ name: String) -> CallBody? { parts.first { $0.has(name) } }

  /// The user's refusal has a code of its own. Apple calls it `user_cancelled_authorize`.
  private static func refusal(_ error: String) -> ProtocolError {
    ["access_denied", "user_cancelled_authorize", "user_denied"].contains(error)
      ? .account("USER_CANCELLED", "The user has not allowed it.")
      : .account("INVALID_IDP_RESPONSE", "The provider has answered with an error.")
  }
}

extension ProtocolError {
  fileprivate static let noCredential = account(
    "INVALID_CREDENTIAL_OR_PROVIDER_ID", "Invalid IdP response/credential.")
}
