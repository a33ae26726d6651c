import CountersignCryptography

/// Tokens under a shared secret, with HS256.
enum JSONWebToken {
  static func sign(_ claims: String, secret: [UInt8]) -> String {
    do {
      return try JWS.sign(Array(claims.utf8), secret: secret)
    } catch {
      preconditionFailure("claims of this size can be signed: \(error)")
    }
  }
}
