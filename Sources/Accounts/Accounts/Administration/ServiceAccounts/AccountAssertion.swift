import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry

/// A token that a service account has signed, or says that it has: its signature is still to be verified.
struct AccountAssertion: Sendable {
  static let maxBytes = 8_192
  /// Longest time between issue and expiry.
  static let longestLife = Duration.seconds(3600)

  let claims: ProviderClaims
  /// Key that it names. Libraries name none in custom tokens.
  let keyID: String?
  private let text: String

  /// - Returns: `nil` for anything but an RS256 token with an object of claims.
  init?(_ token: Secret) {
    text = token.reveal()
    guard text.utf8.count <= Self.maxBytes, let header = ProviderTokens.part(text, 0),
      header["alg"]?.text == SignatureAlgorithm.rs256.rawValue, let members = ProviderTokens.part(text, 1)
    else { return nil }
    claims = ProviderClaims(members)
    keyID = header["kid"]?.text
  }

  /// Service account that it names as its issuer.
  var issuer: ServiceAccountName? { claims.text("iss").flatMap(ServiceAccountName.init(email:)) }

  /// The key of the account that has signed it. `nil` when none has.
  func key(of account: ServiceAccountRecord) -> ServiceAccountRecord.Key? {
    account.keys.first { key in
      guard keyID.map({ $0 == key.id }) ?? true, let verifying = key.verifying else { return false }
      do throws(JOSEError) {
        _ = try JWS.verify(text, with: verifying)
        return true
      } catch {
        return false
      }
    }
  }

  /// Fault of its times. `nil` for one that is valid now.
  static func fault(ofTimes claims: ProviderClaims, at now: UnixTime) -> String? {
    guard let issuedAt = claims.time("iat"), let expiresAt = claims.time("exp") else { return "it has no times" }
    guard issuedAt <= now + IDTokens.maxSkew else { return "it is from the future" }
    guard expiresAt - issuedAt <= longestLife else { return "it is valid for more than an hour" }
    return now < expiresAt ? nil : "it has expired"
  }
}
