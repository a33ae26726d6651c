import CountersignEncoding
import CountersignMessages

/// Claims that administrators, or custom tokens, put into ID tokens.
enum CustomClaims {
  static let maxCharacters = 1_000
  /// Of characters that take more than one.
  static let maxBytes = 2 * maxCharacters
  /// Names that tokens have a meaning for.
  static let forbidden: Set<String> = [
    "iss", "aud", "sub", "iat", "exp", "nbf", "jti", "nonce", "azp", "acr", "amr", "cnf", "auth_time", "firebase",
    "at_hash", "c_hash",
  ]
  /// Further names that only what accounts itself knows may have in a token.
  static let own: Set<String> = ["user_id", "sid", "email", "email_verified", "phone_number", "provider_id"]

  /// - Returns: the claims as they are stored; `nil` for none.
  /// - Throws: `CLAIMS_TOO_LARGE`, `INVALID_CLAIMS` or `FORBIDDEN_CLAIM`.
  static func check(_ text: String) throws(APIError) -> String? {
    guard text.utf8.count <= maxBytes, text.unicodeScalars.count <= maxCharacters else { throw .claimsTooLarge }
    if text.isEmpty { return nil }
    guard let members = read(text) else {
      throw APIError(.invalidClaims, "the claims are not the text of a JSON object", field: "customAttributes")
    }
    return try check(members)
  }

  /// - Throws: `CLAIMS_TOO_LARGE` or `FORBIDDEN_CLAIM`.
  static func check(_ members: [String: JSONValue]) throws(APIError) -> String? {
    if let name = members.keys.filter(forbidden.contains).min() {
      throw APIError(.forbiddenClaim, "\(name) is a name that tokens use themselves", field: "customAttributes")
    }
    let text = JSONValue.object(members).json()
    guard text.utf8.count <= maxBytes, text.unicodeScalars.count <= maxCharacters else { throw .claimsTooLarge }
    return members.isEmpty ? nil : text
  }

  /// Claims of a token: those of the account, and those of the session, which win.
  static func merged(_ account: String?, _ session: String?) -> [String: JSONValue] {
    guard account != nil || session != nil else { return [:] }
    let all = (account.flatMap(read) ?? [:]).merging(session.flatMap(read) ?? [:]) { _, session in session }
    return all.filter { !forbidden.contains($0.key) && !own.contains($0.key) }
  }

  private static func read(_ text: String) -> [String: JSONValue]? {
    do throws(JSONRefusal) { return try JSONReader(maxBytes: maxBytes).value(of: Array(text.utf8)).members } catch {
      return nil
    }
  }
}

extension APIError {
  static let claimsTooLarge = APIError(
    .claimsTooLarge, "the claims have more than \(CustomClaims.maxCharacters) characters", field: "customAttributes")
}
