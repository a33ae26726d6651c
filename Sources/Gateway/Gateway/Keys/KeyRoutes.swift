extension Route {
  static func keys(_ cache: KeyCache) -> [Route] {
    [
      open("certificates", ["\(HostPrefix.keys)/robot/v1/metadata/x509/\(tokenIssuer)"]) {
        (_: Call) async throws(ProtocolError) -> CallAnswer in
        try await cache.answer { PublicKeys.certificates($0.keys) }
      },
      open("jwkSet", ["\(HostPrefix.keys)/service_accounts/v1/jwk/\(tokenIssuer)"]) {
        (_: Call) async throws(ProtocolError) -> CallAnswer in try await cache.answer { PublicKeys.jwkSet($0.keys) }
      },
      open("publicKeys", ["\(HostPrefix.relyingParty)/publicKeys", "\(HostPrefix.identity)/v1/publicKeys"]) {
        (_: Call) async throws(ProtocolError) -> CallAnswer in
        try await cache.answer { PublicKeys.certificates($0.cookieKeys) }
      },
      open("sessionCookiePublicKeys", ["\(HostPrefix.identity)/v1/sessionCookiePublicKeys"]) {
        (_: Call) async throws(ProtocolError) -> CallAnswer in
        try await cache.answer { PublicKeys.jwkSet($0.cookieKeys) }
      },
    ]
  }

  private static let tokenIssuer = "securetoken@system.gserviceaccount.com"
}

extension KeyCache {
  fileprivate func answer(
    _ form: (PublicKeys) -> CallAnswer
  ) async throws(ProtocolError) -> CallAnswer {
    let current = try await current()
    var answer = form(current.keys)
    answer.maxAge = current.maxAge
    return answer
  }
}
