import CountersignMessages

extension Route {
  static func keys(_ cache: KeyCache) -> [Route] {
    [
      open("certificates", ["\(HostPrefix.keys)/robot/v1/metadata/x509/\(tokenIssuer)"]) {
        (_: Call) async throws(ProtocolError) -> CallAnswer in
        try await cache.answer(PublicKeys.certificates)
      },
      open("jwkSet", ["\(HostPrefix.keys)/service_accounts/v1/jwk/\(tokenIssuer)"]) {
        (_: Call) async throws(ProtocolError) -> CallAnswer in try await cache.answer(PublicKeys.jwkSet)
      },
      open(
        "publicKeys", ["\(HostPrefix.relyingParty)/publicKeys", "\(HostPrefix.identity)/v1/publicKeys"],
        waitsFor: .accounts
      ) { (_: Call) async throws(ProtocolError) -> CallAnswer in
        try await cache.cookieAnswer(PublicKeys.certificates)
      },
      open("sessionCookiePublicKeys", ["\(HostPrefix.identity)/v1/sessionCookiePublicKeys"], waitsFor: .accounts) {
        (_: Call) async throws(ProtocolError) -> CallAnswer in
        try await cache.cookieAnswer(PublicKeys.jwkSet)
      },
    ]
  }

  private static let tokenIssuer = "securetoken@system.gserviceaccount.com"
}

extension KeyCache {
  fileprivate typealias Form = ([KeysPublished.Key]) -> CallAnswer

  fileprivate func answer(_ form: Form) async throws(ProtocolError) -> CallAnswer {
    let current = try await current()
    return Self.answer(form(current.keys.keys), maxAge: current.maxAge)
  }

  fileprivate func cookieAnswer(_ form: Form) async throws(ProtocolError) -> CallAnswer {
    let current = try await currentWithCookieKeys()
    return Self.answer(form(current.keys.cookieKeys), maxAge: current.maxAge)
  }

  private static func answer(_ keys: CallAnswer, maxAge: Int) -> CallAnswer {
    var answer = keys
    answer.maxAge = maxAge
    return answer
  }
}
