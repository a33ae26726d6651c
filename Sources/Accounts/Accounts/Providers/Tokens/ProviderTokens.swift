import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects

/// Verification of a provider's ID tokens (OpenID Connect Core 1.0, section 3.1.3.7): signature with a key of the
/// issuer, issuer, audience and times.
struct ProviderTokens: Sendable {
  static let maxBytes = 16 << 10
  /// Difference between the clocks of provider and accounts that is put up with.
  static let skew = Duration.seconds(300)
  /// Longest time after its issue for which a token counts, whatever it says itself. Apple's count a day, and those that
  /// count once are remembered so long.
  static let longestLife = Duration.seconds(2 * 86_400)

  let issuers: Set<String>
  let keys: IssuerKeys
  /// Those of the provider: never one that a token chooses.
  var algorithms: Set<SignatureAlgorithm> = [.rs256]
  let isDevelopment: Bool

  init(issuer: String, keys: IssuerKeys, algorithms: Set<SignatureAlgorithm>) {
    issuers = [issuer]
    self.keys = keys
    self.algorithms = algorithms
    isDevelopment = false
  }

  init(of provider: String, issuers: Set<String>, keysURL: String, _ context: ProviderContext) {
    self.issuers = issuers
    keys = IssuerKeys(of: provider, at: keysURL, context)
    isDevelopment = context.isDevelopment
  }

  /// - Parameter clientIDs: audiences of the project.
  /// - Throws: `INVALID_IDP_RESPONSE`, or the error of an issuer that does not answer.
  func verify(
    _ token: String, of clientIDs: [String], in project: Project, at now: UnixTime
  ) async throws(APIError) -> ProviderClaims {
    if let claims = emulated(token, in: project) { return claims }
    return try await verifySigned(token, of: clientIDs, at: now)
  }

  /// Verifies a token that must be signed, also in development.
  func verifySigned(
    _ token: String, of clientIDs: [String], at now: UnixTime
  ) async throws(APIError) -> ProviderClaims {
    guard (1...Self.maxBytes).contains(token.utf8.count) else { throw .invalidIDPResponse("the ID token is too long") }
    let key = try await keys.key(try keyID(of: token))
    let payload: [UInt8]
    do throws(JOSEError) { payload = try JWS.verify(token, with: key).payload } catch {
      throw .invalidIDPResponse("the signature of the ID token is wrong")
    }
    let claims = ProviderClaims(try Self.members(payload))
    guard let issuer = claims.text("iss"), issuers.contains(issuer) else {
      throw .invalidIDPResponse("the ID token has another issuer")
    }
    guard claims.texts("aud").contains(where: clientIDs.contains) else {
      throw .invalidIDPResponse("the ID token was issued to another app: its audience is not one of the project's")
    }
    try Self.checkTimes(claims, at: now)
    return claims
  }

  /// The claims of a test suite's credential, where such are taken.
  func emulated(_ token: String, in project: Project) -> ProviderClaims? {
    isDevelopment ? EmulatorToken.claims(of: token, in: project) : nil
  }

  /// The end of a token's life, clocks included. `nil` for one without times.
  static func end(of claims: ProviderClaims) -> UnixTime? {
    guard let expiry = claims.time("exp"), let issuedAt = claims.time("iat") else { return nil }
    return min(expiry, issuedAt + longestLife) + skew
  }

  private static func checkTimes(_ claims: ProviderClaims, at now: UnixTime) throws(APIError) {
    guard let end = end(of: claims), let issuedAt = claims.time("iat") else {
      throw .invalidIDPResponse("the ID token has no times")
    }
    guard now < end else { throw .invalidIDPResponse("the ID token has expired") }
    let begin = max(issuedAt, claims.time("nbf") ?? issuedAt)
    guard begin - skew <= now else { throw .invalidIDPResponse("the ID token is not valid yet") }
  }

  /// Empty for a token that names no key: its issuer has one alone.
  private func keyID(of token: String) throws(APIError) -> String {
    guard let header = Self.part(token, 0) else { throw .invalidIDPResponse("the ID token is not a signed token") }
    guard let name = header["alg"]?.text, let algorithm = SignatureAlgorithm(rawValue: name),
      algorithms.contains(algorithm)
    else {
      let names = algorithms.map(\.rawValue).sorted().joined(separator: " or ")
      throw .invalidIDPResponse("the ID token is not signed with the algorithm of its provider, \(names)")
    }
    let id = header["kid"]?.text ?? ""
    guard id.utf8.count <= KeySet.maxKeyIDBytes else { throw .invalidIDPResponse("the ID token names no key") }
    return id
  }

  private static func members(_ payload: [UInt8]) throws(APIError) -> [String: JSONValue] {
    var members: [String: JSONValue]?
    do throws(JSONRefusal) { members = try JSONReader(maxBytes: maxBytes).value(of: payload).members } catch {}
    guard let members else { throw .invalidIDPResponse("the ID token holds no claims") }
    return members
  }

  /// A part of a compact token, as a JSON object.
  static func part(_ token: String, _ index: Int) -> [String: JSONValue]? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let json = Base64URL.decode(String(parts[index])) else { return nil }
    do throws(JSONRefusal) { return try JSONReader(maxBytes: maxBytes).value(of: json).members } catch { return nil }
  }
}

/// Credentials that test suites for the emulator write in place of a provider's: claims as JSON text, or a token with
/// the algorithm `none`.
enum EmulatorToken {
  /// `nil` for another credential, and in a project that takes none.
  static func claims(of token: String, in project: Project) -> ProviderClaims? {
    project.emulatorTokens && token.utf8.count <= ProviderTokens.maxBytes ? claims(of: token) : nil
  }

  static func claims(of token: String) -> ProviderClaims? {
    let members: [String: JSONValue]?
    if token.hasPrefix("{") {
      do throws(JSONRefusal) {
        members = try JSONReader(maxBytes: ProviderTokens.maxBytes).value(of: Array(token.utf8)).members
      } catch {
        return nil
      }
    } else {
      let header = ProviderTokens.part(token, 0)
      guard header?["alg"]?.text == "none" else { return nil }
      members = ProviderTokens.part(token, 1)
    }
    return members.map { ProviderClaims($0, isEmulated: true) }
  }
}
