import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

/// Google's token endpoint, which exchanges the assertion of a service account for an access token (RFC 7523, section
/// 2.1. Https://developers.google.com/identity/protocols/oauth2/service-account, "Making the access token request").
struct TokenEndpoint: Sendable {
  /// RFC 7523, section 2.1.
  static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  /// Half of the default for a call, so that the other half is left for the assessment.
  static let timeout: Duration = .seconds(5)
  /// An access token has at most 2048 bytes (https://developers.google.com/identity/protocols/oauth2, "Token size").
  private static let maxResponseBytes = 16 * 1024

  let account: ServiceAccount
  /// The account's own `token_uri`, unless the configuration has another one.
  let url: String
  let table: ProviderTable
  let http: any HTTPCaller
  let clocks: Clocks
  var timeout = Self.timeout

  func token(number: Int) async -> Result<AccessToken, AccessTokenFailure> {
    // Counted from before the request, a token does not seem to live longer than it does.
    let now = clocks.monotonic.now()
    let assertion: String
    do throws(JOSEError) { assertion = try ServiceAccountAssertion.sign(account, now: clocks.wall.now()) } catch {
      return .failure(.permanent(Reason("PROVIDER_CREDENTIALS", "No assertion can be signed: \(error)")))
    }
    do throws(TransportError) {
      let response = try await http.send(request(assertion))
      return TokenAnswer(response, now: clocks.wall.now()).result(table, number: number, now: now)
    } catch {
      // Whether the request left does not matter: a lost token is harmless.
      return .failure(
        .transient(Reason("TOKEN_UNAVAILABLE", "Google's token endpoint did not answer: \(error)"), after: nil))
    }
  }

  private func request(_ assertion: String) -> HTTPRequest {
    HTTPRequest(
      method: "POST", url: url,
      headers: ["Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"],
      body: FormEncoding.encode([
        (name: "grant_type", value: Self.grantType), (name: "assertion", value: assertion),
      ]), timeouts: .within(timeout), isIdempotent: true, maxResponseBytes: Self.maxResponseBytes)
  }
}

/// A JWT that a service account signed for the token endpoint (RFC 7523, section 3), in the form Google requires
/// (https://developers.google.com/identity/protocols/oauth2/service-account, "Preparing to make an authorized API
/// call").
enum ServiceAccountAssertion {
  /// Scope of the access token. reCAPTCHA Enterprise has no narrower one; the roles of the account limit it
  /// (https://cloud.google.com/recaptcha/docs/reference/rest/v1/projects.assessments/create, "Authorization scopes").
  static let scope = "https://www.googleapis.com/auth/cloud-platform"
  /// Maximum life that Google takes. A shorter one would only fail sooner where clocks differ.
  static let life: Duration = .seconds(3600)

  static func sign(_ account: ServiceAccount, now: UnixTime) throws(JOSEError) -> String {
    // Nothing here needs escaping: reading the account has checked that.
    let claims =
      #"{"iss":"\#(account.email)","scope":"\#(scope)","aud":"\#(account.tokenURI)","#
      + #""iat":\#(now.seconds),"exp":\#((now + life).seconds)}"#
    return try JWS.sign(Array(claims.utf8), with: account.key, header: ["typ": "JWT"])
  }
}
