import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry

/// Verifies the header `X-Twilio-Signature` of Twilio's callbacks
/// (https://www.twilio.com/docs/usage/security#validating-requests): base64 of an HMAC-SHA1 under the auth token, over
/// the address and all fields in the order of their names.
struct TwilioSignature: Sendable {
  let authToken: Secret

  /// Twilio signs the address with the port or without it, inconsistently (twilio-python, `RequestValidator`), so both
  /// forms are accepted.
  func isValid(_ signature: String, url: String, fields: [(name: String, value: String)]) -> Bool {
    guard let given = Base64.decode(signature) else { return false }
    // All forms are compared, so that the time does not reveal which one matched.
    let matches = Self.forms(of: url).map { constantTimeEquals(given, code($0, fields)) }
    return matches.contains(true)
  }

  private func code(_ url: String, _ fields: [(name: String, value: String)]) -> [UInt8] {
    var text = Array(url.utf8)
    var last: (name: String, value: String)?
    let sorted = fields.sorted {
      $0.name == $1.name
        ? $0.value.utf8.lexicographicallyPrecedes($1.value.utf8) : $0.name.utf8.lexicographicallyPrecedes($1.name.utf8)
    }
    // A value that comes twice under the same name counts once.
    for field in sorted where last.map({ $0 != field }) ?? true {
      text += Array(field.name.utf8) + Array(field.value.utf8)
      last = field
    }
    return HMAC.authenticate(text, key: Array(authToken.reveal().utf8), digest: .sha1)
  }

  private static func forms(of url: String) -> [String] {
    guard let scheme = url.firstRange(of: "://") else { return [url] }
    let rest = url[scheme.upperBound...]
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    let tail = rest[authority.endIndex...]
    let host = authority.hasSuffix("]") ? authority[...] : authority.prefix { $0 != ":" || authority.hasPrefix("[") }
    let begin = url[..<scheme.upperBound]
    if host.endIndex < authority.endIndex { return [url, "\(begin)\(host)\(tail)"] }
    return [url, "\(begin)\(authority):\(url.hasPrefix("https") ? 443 : 80)\(tail)"]
  }
}
