import CountersignMessages

extension Sample {
  static func administratorCommands() throws -> [Sample] {
    var create = CreateAccount(project: project, user: secret)
    var change = ChangeAccount(project: project, user: secret)
    var find = FindAccounts(project: project, selection: secret)
    var list = ListAccounts(project: project, limit: 1_000)
    var remove = RemoveAccounts(project: project, localIDs: [account])
    var batch = ImportAccounts(project: project, batch: secret)
    var cookie = CreateSessionCookie(project: project, idToken: secret, validFor: 300, replyKey: replyKey)
    var settings = ProjectSettingsCommand(project: project)
    (create.bearer, change.bearer, find.bearer, list.bearer) = (secret, secret, secret, secret)
    (remove.bearer, batch.bearer, cookie.bearer, settings.bearer) = (secret, secret, secret, secret)
    (list.after, list.replyKey, list.countsOnly, remove.force) = ("n", replyKey, true, true)
    (settings.allowsDuplicateEmails, settings.protectsAddresses) = (true, false)
    return [
      try Sample([], least: GrantAccess(assertion: secret, replyKey: replyKey)),
      try Sample([create], least: CreateAccount(project: project, user: secret)),
      try Sample([change], least: ChangeAccount(project: project, user: secret)),
      try Sample([find], least: FindAccounts(project: project, selection: secret)),
      try Sample([list], least: ListAccounts(project: project, limit: 1)),
      try Sample([remove], least: RemoveAccounts(project: project, localIDs: [account])),
      try Sample([batch], least: ImportAccounts(project: project, batch: secret)),
      try Sample(
        [cookie], least: CreateSessionCookie(project: project, idToken: secret, validFor: 300, replyKey: replyKey)),
      try Sample([settings], least: ProjectSettingsCommand(project: project)),
    ] + (try providerCommands()) + (try verificationCommands()) + (try operatorCommands())
  }

  private static func verificationCommands() throws -> [Sample] {
    let client = StartVerification.Client(ip: "192.0.2.1", userAgent: "a", instance: "i")
    var start = StartServiceVerification(project: project, app: app, phoneNumber: number)
    (start.bearer, start.idempotencyKey, start.client) = (secret, "k", client)
    (start.region, start.languageCode) = ("US", "pt-BR")
    var check = CheckServiceVerification(project: project, verificationID: "v", code: secret)
    (check.bearer, check.idempotencyKey, check.client, check.app) = (secret, "k", client, app)
    var get = GetServiceVerification(project: project, verificationID: "v")
    (get.bearer, get.app) = (secret, app)
    var cancel = CancelServiceVerification(project: project, verificationID: "v")
    (cancel.bearer, cancel.idempotencyKey, cancel.app) = (secret, "k", app)
    return [
      try Sample([start], least: StartServiceVerification(project: project, app: app, phoneNumber: number)),
      try Sample([check], least: CheckServiceVerification(project: project, verificationID: "v", code: secret)),
      try Sample([get], least: GetServiceVerification(project: project, verificationID: "v")),
      try Sample([cancel], least: CancelServiceVerification(project: project, verificationID: "v")),
    ]
  }

  private static func providerCommands() throws -> [Sample] {
    let acts = SetProvider.Act.allCases.map { act in
      var set = SetProvider(project: project, providerID: "oidc.example", act: act)
      (set.bearer, set.fields) = (secret, secret)
      return set
    }
    var find = FindProviders(project: project)
    (find.bearer, find.providerID, find.limit, find.behind) = (secret, "oidc.example", 1, "oidc.a")
    return [
      try Sample(acts, least: SetProvider(project: project, providerID: "oidc.example", act: .remove)),
      try Sample([find], least: FindProviders(project: project)),
    ]
  }

  private static var providerView: ProviderView {
    var client = ProviderView.Client(clientID: "c", hasSecret: true)
    client.platform = "ios"
    var view = ProviderView(
      providerID: "oidc.example", issuer: "https://id.example.com",
      clients: [client, ProviderView.Client(clientID: "d", hasSecret: false)], enabled: true, usesCodeFlow: true,
      isFromFile: false)
    (view.displayName, view.scopes, view.parameters) = ("Example", ["email"], ["prompt": "login"])
    return view
  }

  private static var openIDFields: OpenIDFields {
    var (fields, client) = (OpenIDFields(), OpenIDClient(clientID: "c"))
    (client.platform, client.secret) = ("ios", "s")
    (fields.displayName, fields.enabled, fields.issuer) = ("Example", true, "https://id.example.com")
    (fields.clients, fields.usesCodeFlow, fields.scopes) = ([client], true, ["email"])
    fields.parameters = [:]
    return fields
  }

  private static func operatorCommands() throws -> [Sample] {
    let acts = SetServiceAccount.Act.allCases.map { act in
      var set = SetServiceAccount(project: project, act: act, name: "backup-job")
      (set.roles, set.keyID, set.publicKey) = ([.readUsers], "k", "-----BEGIN PUBLIC KEY-----")
      return set
    }
    var audit = ListActs(project: project, limit: 200)
    audit.after = "n"
    return [
      try Sample(acts, least: SetServiceAccount(project: project, act: .delete, name: "backup-job")),
      try Sample([], least: ListServiceAccounts(project: project)),
      try Sample([audit], least: ListActs(project: project, limit: 1)),
    ]
  }

  static func administratorReplies() throws -> [Sample] {
    var found = AccountsFound(accounts: [view])
    (found.hashes, found.next, found.count) = (secret, "n", 1)
    let refused = RefusedUser(index: 0, message: "NOT_DISABLED")
    let serviceAccount = ServiceAccountsListed.Entry(
      email: "backup-job@example.iam.gserviceaccount.com", roles: [.readUsers], keyIDs: ["k"], disabled: false,
      createdAt: time)
    var acts = ActsListed(acts: [acted])
    acts.next = "n"
    var providers = ProvidersFound(providers: [providerView])
    providers.hasMore = true
    return [
      try Sample([providers], least: ProvidersFound(providers: [])),
      try Sample([], least: AccessGranted(accessToken: secret, expiresIn: 3600)),
      try Sample([found], least: AccountsFound(accounts: [])),
      try Sample([AccountsRemoved(refused: [refused])], least: AccountsRemoved(refused: [])),
      try Sample([AccountsImported(refused: [refused])], least: AccountsImported(refused: [])),
      try Sample([], least: SessionCookieCreated(cookie: secret)),
      try Sample([], least: ProjectSettingsFound(allowsDuplicateEmails: false, protectsAddresses: true)),
      try Sample([ServiceAccountsListed(accounts: [serviceAccount])], least: ServiceAccountsListed(accounts: [])),
      try Sample([acts], least: ActsListed(acts: [])),
    ]
  }

  static func administered() throws -> Sample {
    try Sample(
      [acted], least: AdministratorActed(project: project, by: "operator", act: "remove", actedAt: time))
  }

  private static var acted: AdministratorActed {
    var acted = AdministratorActed(project: project, by: "operator", act: "change", actedAt: time)
    (acted.localID, acted.count, acted.subject) = (account, 1, "oidc.example https://id.example.com")
    return acted
  }

  static func administratorTexts() -> [(schema: String, least: any SealedText, full: any SealedText)] {
    var identity = UserIdentity(providerID: "apple.com", subject: "s")
    (identity.email, identity.displayName) = ("ada@example.com", "Ada")
    identity.photoURL = "https://example.com/ada.png"
    var selection = AccountSelection()
    (selection.localIDs, selection.emails) = ([account], ["ada@example.com"])
    (selection.phoneNumbers, selection.identities) = ([number], [identity])
    let user = user(identity)
    var batch = UserBatch(users: [user])
    (batch.hash, batch.keepsExisting) = (hashParameters, true)
    return [
      ("UserFields", UserFields(), user), ("AccountSelection", AccountSelection(), selection),
      (
        "PasswordHashes", PasswordHashes(entries: []),
        PasswordHashes(entries: [PasswordHashes.Entry(localID: account, stored: "h")])
      ), ("UserBatch", UserBatch(users: []), batch),
      ("OpenIDFields", OpenIDFields(), openIDFields),
      ("HashParameters", HashParameters(hashAlgorithm: "SCRYPT"), hashParameters),
    ]
  }

  private static func user(_ identity: UserIdentity) -> UserFields {
    var user = UserFields(localID: account)
    var factor = UserSecondFactor(enrollmentID: "e", phoneNumber: number)
    (factor.displayName, factor.enrolledAt) = ("Work", time)
    user.secondFactors = [factor]
    (user.email, user.emailVerified, user.password) = ("ada@example.com", true, "secret1")
    (user.displayName, user.photoURL, user.phoneNumber) = ("Ada", "https://example.com/ada.png", number)
    (user.disabled, user.customAttributes, user.validSince) = (false, "{}", time)
    (user.createdAt, user.lastLoginAt) = (time, time)
    (user.passwordHash, user.salt, user.identities) = ("aA==", "aA==", [identity])
    (user.deleteAttributes, user.deleteProviders) = (["PASSWORD"], ["phone"])
    return user
  }

  private static var hashParameters: HashParameters {
    var hash = HashParameters(hashAlgorithm: "ARGON2")
    (hash.signerKey, hash.saltSeparator, hash.rounds, hash.memoryCost) = ("aA==", "aA==", 8, 14)
    (hash.parallelization, hash.blockSize, hash.dkLen) = (1, 8, 64)
    hash.passwordHashOrder = "SALT_AND_PASSWORD"
    var argon = HashParameters.Argon2()
    (argon.hashLengthBytes, argon.hashType, argon.parallelism) = (32, "ARGON2_ID", 1)
    (argon.iterations, argon.memoryCostKib, argon.version) = (3, 65_536, "VERSION_13")
    argon.associatedData = "aA=="
    hash.argon2Parameters = argon
    return hash
  }
}
