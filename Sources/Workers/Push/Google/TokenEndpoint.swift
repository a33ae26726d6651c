import CountersignCryptography
import CountersignTelemetry
import FoundationEssentials
import HTTPClient
import JobEngine

/// Google's token endpoint: takes the assertion of a service account and gives an access token (RFC 7523, section 2.1;
/// https://developers.google.com/identity/protocols/oauth2/service-account, "Making the access token request").
struct TokenEndpoint: Sendable {
  /// The grant type of an assertion (RFC 7523, section 2.1).
  static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  /// How long one request may take: half of what a call has by default, so that the other half is left for the assessment.
  static let timeout: Duration = .seconds(5)
  /// An access token has at most 2048 bytes (https://developers.google.com/identity/protocols/oauth2, "Token size").
  private static let maxResponseBytes = 16 * 1024

  let account: ServiceAccount
  /// Where it is reached; the account's own `token_uri`, unless the configuration says otherwise.
  let url: String
  let table: ProviderTable
  let http: any HTTPCaller
  let clocks: Clocks
  var timeout = Self.timeout

  /// Asks for one access token.
  /// - Parameter number: What the token is told apart by.
  func token(number: Int) async -> Result<AccessToken, AccessTokenFailure> {
    // By the time before the request, a token does not seem to live longer than it does.
    let now = clocks.monotonic.now()
    let assertion: String
    do throws(JOSEError) { assertion = try ServiceAccountAssertion.sign(account, now: clocks.wall.now()) } catch {
      return .failure(.permanent(Reason("PROVIDER_CREDENTIALS", "No assertion can be signed: \(error)")))
    }
    do throws(TransportError) {
      let response = try await http.send(request(assertion))
      return TokenAnswer(response).result(table, number: number, now: now, answeredAt: clocks.wall.now())
    } catch {
      // Whether it left does not matter: a token that nobody holds harms nobody.
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
