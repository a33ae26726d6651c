import CountersignTelemetry
import Synchronization

final class GrantStore: Sendable {
  static let maxGrants = 200_000

  private struct Grant {
    let code: AuthorizationCode
    var isRevoked = false
  }

  struct Tokens: Sendable {
    let access: String
    /// Present after the exchange of a code only.
    var refresh: String?
    let code: AuthorizationCode
  }

  private struct State {
    var codes = RecentMap<String, AuthorizationCode>(capacity: GrantStore.maxGrants)
    var grants = RecentMap<String, Grant>(capacity: GrantStore.maxGrants)
    /// Authorization codes by the refresh and access tokens that came from them.
    var refreshTokens = RecentMap<String, String>(capacity: GrantStore.maxGrants)
    var accessTokens = RecentMap<String, String>(capacity: GrantStore.maxGrants)
  }

  private let state = Mutex(State())

  func issue(_ code: AuthorizationCode) { state.withLock { $0.codes[code.text] = code } }

  /// Returns the code of a consent at Apple's page.
  func issue(_ consent: ProviderPage<AppleProfile>.Consent, now: UnixTime) -> String {
    let code = AuthorizationCode(
      clientID: consent.request.clientID, redirectURI: consent.request.redirectURI,
      user: TokenOrder(form: consent.form(accessToken: nil), profile: consent.order.token.profile),
      expiresAt: now + AuthorizationCode.lifetime)
    issue(code)
    return code.text
  }

  func exchange(code: String, clientID: String, redirectURI: String?, now: UnixTime) throws(ProviderError) -> Tokens {
    try state.withLock { state throws(ProviderError) in
      guard var issued = state.codes[code] else {
        throw ProviderError("invalid_grant", "The code has expired or has been revoked.")
      }
      try issued.check(clientID: clientID, redirectURI: redirectURI, now: now)
      issued.isUsed = true
      state.codes[code] = issued
      state.grants[code] = Grant(code: issued)
      let tokens = Tokens(access: AuthorizationCode.random("a"), refresh: AuthorizationCode.random("r"), code: issued)
      state.accessTokens[tokens.access] = code
      if let refresh = tokens.refresh { state.refreshTokens[refresh] = code }
      return tokens
    }
  }

  func refresh(token: String, clientID: String) throws(ProviderError) -> Tokens {
    try state.withLock { state throws(ProviderError) in
      guard let code = state.refreshTokens[token], let grant = state.grants[code], !grant.isRevoked,
        grant.code.clientID == clientID
      else { throw ProviderError("invalid_grant", "The token has expired or has been revoked.") }
      let tokens = Tokens(access: AuthorizationCode.random("a"), code: grant.code)
      state.accessTokens[tokens.access] = code
      return tokens
    }
  }

  /// Returns the code that it came from, if it was issued here to that client.
  func revoke(token: String, clientID: String) -> String? {
    state.withLock { state in
      guard let code = state.refreshTokens[token] ?? state.accessTokens[token],
        state.grants[code]?.code.clientID == clientID
      else { return nil }
      state.grants[code]?.isRevoked = true
      return code
    }
  }
}
