import CountersignMessages

extension Sample {
  static let project = "example"
  static let account = "Zf3kP0aVqN7cYt5LwJx2RbUe8HsD"
  static let replyKey = #"{"kty":"EC","crv":"P-256","kid":"r","x":"…","y":"…"}"#
  private static let tokens = SessionTokens(idToken: secret, refreshToken: secret, expiresIn: 3600)
  static let client = StartVerification.Client(ip: "192.0.2.1", userAgent: "a", instance: "i")

  static var view: AccountView {
    var view = AccountView(localID: account, createdAt: time, lastLoginAt: time, validSince: time)
    (view.displayName, view.photoURL, view.phoneNumber) = ("Ada", "https://example.com/ada.png", number)
    view.lastRefreshAt = time
    (view.email, view.emailVerified) = ("ada@example.com", true)
    var identity = IdentityView(providerID: "apple.com", subject: "s", linkedAt: time)
    (identity.email, identity.displayName) = ("ada@example.com", "Ada")
    identity.photoURL = "https://example.com/ada.png"
    view.identities = [identity, IdentityView(providerID: "google.com", subject: "s", linkedAt: time)]
    (view.passwordChangedAt, view.signsInByLink) = (time, true)
    (view.initialEmail, view.customAttributes) = ("ada@example.com", "{}")
    (view.secondFactors, view.consents) = (secondFactors, [consent])
    return view
  }

  static func accountCommands() throws -> [Sample] {
    var signIn = SignInWithPhone(project: project, replyKey: replyKey)
    (signIn.app, signIn.sessionInfo, signIn.code, signIn.idToken) = (app, secret, secret, secret)
    (signIn.temporaryProof, signIn.phoneNumber, signIn.client) = (secret, number, client)
    let signIns = SignInWithPhone.Operation.allCases.map { operation in
      var one = signIn
      one.operation = operation
      return one
    }
    var signUp = SignUp(project: project, replyKey: replyKey)
    (signUp.app, signUp.credential, signUp.idToken, signUp.client) = (app, secret, secret, client)
    var update = UpdateAccount(project: project, idToken: secret)
    (update.displayName, update.photoURL) = ("Ada", "https://example.com/ada.png")
    (update.deleteAttributes, update.deleteProviders) = (["DISPLAY_NAME"], ["phone"])
    (update.credential, update.replyKey, update.client) = (secret, replyKey, client)
    return [
      try Sample(signIns, least: SignInWithPhone(project: project, replyKey: replyKey)),
      try Sample([signUp], least: SignUp(project: project, replyKey: replyKey)),
      try Sample([], least: LookUpAccount(project: project, idToken: secret)),
      try Sample([update], least: UpdateAccount(project: project, idToken: secret)),
      try Sample([], least: DeleteAccount(project: project, idToken: secret)),
      try providerSignIn(), try pageSignIn(), try revocationOfToken(),
      try Sample([], least: NoteApple(project: project, payload: secret)),
      try Sample([], least: RefreshSession(project: project, refreshToken: secret, replyKey: replyKey)),
      try Sample([], least: GetKeys()),
      try Sample([], least: RotateKeys(withdraw: true)),
      try Sample([], least: ResetAccounts(project: project)),
    ] + (try passwordCommands()) + (try secondFactorCommands()) + (try administratorCommands())
      + (try webhookCommands())
  }

  private static func providerSignIn() throws -> Sample {
    var signIn = SignInWithIDP(project: project, credential: secret, replyKey: replyKey)
    (signIn.app, signIn.idToken, signIn.client) = (app, secret, client)
    (signIn.autoCreate, signIn.returnIDPCredential) = (false, true)
    return try Sample([signIn], least: SignInWithIDP(project: project, credential: secret, replyKey: replyKey))
  }

  private static func pageSignIn() throws -> Sample {
    let uri = "https://example.com/__/auth/handler"
    let least = StartIDPSignIn(
      project: project, providerID: "oidc.example", redirectURI: uri, request: secret, replyKey: replyKey)
    var start = least
    (start.app, start.client) = (app, client)
    return try Sample([start], least: least)
  }

  private static func revocationOfToken() throws -> Sample {
    let kinds = AppleToken.Kind.allCases.map { kind in
      var one = RevokeToken(
        project: project, idToken: secret, providerID: "apple.com", tokenType: kind, token: secret)
      (one.app, one.redirectURI) = (app, "https://example.com/")
      return one
    }
    return try Sample(
      kinds,
      least: RevokeToken(
        project: project, idToken: secret, providerID: "apple.com", tokenType: .authorizationCode, token: secret))
  }

  /// Texts that are sealed: the name of the schema, one with as little as there may be, and one with every field.
  static func sealedTexts() throws -> [(schema: String, least: any SealedText, full: any SealedText)] {
    var credential = IDPCredential(providerID: "apple.com")
    (credential.idToken, credential.accessToken, credential.nonce) = ("t", "a", "n")
    (credential.user, credential.pendingToken) = ("{}", "p")
    (credential.code, credential.state, credential.issuer) = ("c", "s", "https://id.example.com")
    (credential.redirectURI, credential.sessionID) = ("https://example.com/__/auth/handler", "i")
    let leastRequest = PageRequest(sessionHash: String(repeating: "0", count: 64))
    var request = leastRequest
    (request.scopes, request.parameters) = (["email"], [:])
    let least = SignedInIdentity(providerID: "apple.com", federatedID: "s")
    var identity = least
    (identity.email, identity.emailVerified, identity.displayName) = ("ada@example.com", true, "Ada")
    (identity.fullName, identity.photoURL, identity.rawUserInfo) = ("Ada King", "https://example.com/ada.png", "{}")
    (identity.oauthIDToken, identity.oauthAccessToken, identity.oauthExpiresIn) = ("t", "a", 3600)
    return [
      ("IDPCredential", IDPCredential(), credential), ("SignedInIdentity", least, identity),
      ("PageRequest", leastRequest, request), ("SharedSecret", sharedSecret, sharedSecret),
    ] + passwordTexts() + administratorTexts()
  }

  static func accountReplies() throws -> [Sample] {
    var signedIn = AccountSignedIn()
    (signedIn.localID, signedIn.phoneNumber, signedIn.isNewUser, signedIn.tokens) = (account, number, true, tokens)
    (signedIn.temporaryProof, signedIn.temporaryProofExpiresIn) = (secret, 3600)
    (signedIn.identity, signedIn.pendingToken, signedIn.refusal) = (secret, secret, .emailExists)
    (signedIn.needsConfirmation, signedIn.verifiedProviders) = (true, ["phone"])
    (signedIn.pendingCredential, signedIn.secondFactors) = (secret, secondFactors)
    let least = AccountView(localID: account, createdAt: time, lastLoginAt: time, validSince: time)
    var changed = AccountChanged(account: view)
    changed.tokens = tokens
    return [
      try Sample([signedIn], least: AccountSignedIn()),
      try Sample([AccountFound(account: view)], least: AccountFound(account: least)),
      try Sample([changed], least: AccountChanged(account: least)),
      try Sample([], least: AccountDeleted(project: project, localID: account, deletedAt: time)),
      try Sample([], least: IDPSignInStarted(authURI: secret)),
      try Sample([], least: AppleNoted(isRepeated: true)),
      try Sample([], least: TokenRevoked(localID: account, operationID: "o")),
      try Sample([], least: SessionRefreshed(localID: account, tokens: tokens)),
      try Sample([], least: KeysRotated(key: "k", signsFrom: time, withdrawn: ["j"])),
      try Sample([], least: AccountsReset(deleted: 1)),
      try keysPublished(),
    ] + (try passwordReplies()) + (try secondFactorReplies()) + (try administratorReplies())
      + (try webhookReplies())
  }

  static func accountEvents() throws -> [Sample] {
    [
      try Sample([], least: AccountCreated(project: project, localID: account, createdAt: time, provider: "phone")),
      try Sample(
        [], least: AccountUpdated(project: project, localID: account, updatedAt: time, fields: ["displayName"])),
      try Sample([], least: AccountDeleted(project: project, localID: account, deletedAt: time)),
      try signedIn(),
      try Sample([], least: AccountLinked(project: project, localID: account, provider: "apple.com", linkedAt: time)),
      try Sample(
        [], least: AccountUnlinked(project: project, localID: account, provider: "apple.com", unlinkedAt: time)),
      try appleNotified(), try erased(), try administered(), try keysPublished(),
    ] + (try secondFactorEvents())
  }

  private static func signedIn() throws -> Sample {
    let least = AccountSignIn(
      project: project, localID: account, provider: "apple.com", signedInAt: time, isNewUser: true)
    var signedIn = least
    signedIn.secondFactor = .totp
    return try Sample([signedIn], least: least)
  }

  private static func appleNotified() throws -> Sample {
    let least = AppleNotified(
      project: project, subject: "s", kind: "consent-revoked", happenedAt: time, effect: .unlinked)
    var notified = least
    notified.localID = account
    return try Sample([notified], least: least)
  }

  private static func erased() throws -> Sample {
    var erased = AccountErased(project: project, localID: account, erasedAt: time)
    (erased.apple, erased.coordinator, erased.mail) = (.revoked, .forgotten, .told)
    return try Sample([erased], least: AccountErased(project: project, localID: account, erasedAt: time))
  }

  private static func keysPublished() throws -> Sample {
    let key = KeysPublished.Key(id: "k", n: "AQAB", e: "AQAB", certificate: "-----BEGIN CERTIFICATE-----")
    var published = KeysPublished(keys: [key], maxAge: 3600, publishedAt: time)
    published.cookieKeys = [key]
    return try Sample(
      [published],
      least: KeysPublished(keys: [], maxAge: 3600, publishedAt: time))
  }
}
