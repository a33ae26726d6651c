import CountersignEncoding
import CountersignMessages

extension IDPCredential {
  /// Maximum bytes of `postBody`: an ID token, an access token and a name.
  static let maxPostBodyBytes = 32 * 1024
  /// Maximum number of fields of `postBody`. SDKs send up to seven.
  static let maxPostBodyFields = 50

  /// Reads the credential of `signInWithIdp`: a pending token, or what `postBody` holds, a form in a text. A pending
  /// token alone counts.
  init(_ body: CallBody) throws(ProtocolError) {
    let address = try Self.requestURI(body)
    if let token = try body.secret("pendingToken", else: "INVALID_PENDING_TOKEN") {
      self.init()
      pendingToken = token
      return
    }
    let fields = try Self.postBody(body)
    self.init(providerID: try fields.word("providerId", else: "INVALID_PROVIDER_ID"))
    idToken = try fields.secret("idToken", else: "INVALID_IDP_RESPONSE")
    accessToken = try fields.secret("accessToken", else: "INVALID_IDP_RESPONSE")
    nonce = try fields.word("nonce", else: "MISSING_OR_INVALID_NONCE")
    user = try fields.secret("user", else: "INVALID_IDP_RESPONSE")
    guard providerID != nil, idToken != nil || accessToken != nil else {
      // The flow of a page, which brings a code in the address or in the form, is not offered yet.
      throw body.has("sessionId") || fields.has("code") || address.contains("?") ? .notOffered : .noCredential
    }
  }

  /// Address that the provider has led back to. That of an app without pages is made up.
  private static func requestURI(_ body: CallBody) throws(ProtocolError) -> String {
    guard let address = try body.secret("requestUri", else: "INVALID_REQUEST_URI") else {
      throw .account("MISSING_REQUEST_URI")
    }
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

extension ProtocolError {
  fileprivate static let noCredential = account(
    "INVALID_CREDENTIAL_OR_PROVIDER_ID", "Invalid IdP response/credential.")
}
