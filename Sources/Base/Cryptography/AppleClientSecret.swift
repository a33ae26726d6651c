import CountersignEncoding

/// Secret that identifies a client to Apple: a short-lived JWT, signed with the team's key
/// (https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret).
public enum AppleClientSecret {
  /// Seconds for which one counts. Apple allows six months, but minutes are enough for a signer, and of little use to a
  /// thief.
  public static let life: Int64 = 300
  /// Apple's own name, whatever address is called.
  public static let audience = "https://appleid.apple.com"

  /// - Parameters:
  ///   - clientID: bundle ID of an app, or a Services ID.
  ///   - issuedAt: seconds since 1970.
  ///   - key: the team's key, with Apple's ID of it.
  /// - Throws: as ``JWS/sign(_:with:)``.
  public static func sign(
    teamID: String, clientID: String, issuedAt: Int64, with key: SigningKey
  ) throws(JOSEError) -> String {
    let claims: JSONValue = [
      "iss": .text(teamID), "iat": .integer(issuedAt), "exp": .integer(issuedAt + life), "aud": .text(audience),
      "sub": .text(clientID),
    ]
    return try JWS.sign(Array(claims.json().utf8), with: key)
  }
}
