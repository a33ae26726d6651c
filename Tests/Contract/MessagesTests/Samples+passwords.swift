import CountersignMessages

extension Sample {
  static func passwordCommands() throws -> [Sample] {
    var signIn = SignInWithPassword(project: project, credential: secret, replyKey: replyKey)
    var custom = SignInWithCustomToken(project: project, token: secret, replyKey: replyKey)
    var find = FindMethods(project: project, credential: secret)
    (signIn.app, custom.app, signIn.client, custom.client, find.client) = (app, app, client, client, client)
    return [
      try Sample([signIn], least: SignInWithPassword(project: project, credential: secret, replyKey: replyKey)),
      try Sample([custom], least: SignInWithCustomToken(project: project, token: secret, replyKey: replyKey)),
      try Sample([find], least: FindMethods(project: project, credential: secret)),
    ] + (try mailLinkCommands())
  }

  private static func mailLinkCommands() throws -> [Sample] {
    let sends = MailLinkPurpose.allCases.map { purpose in
      var send = SendMailLink(project: project, purpose: purpose, addresses: secret, replyKey: replyKey)
      (send.app, send.idToken, send.bearer, send.client) = (app, secret, secret, client)
      (send.continueURL, send.opensInApp, send.bundleID) = ("https://example.com/", true, app)
      (send.linkDomain, send.languageCode, send.returnsLink) = ("example.com", "pt-BR", true)
      return send
    }
    var apply = ApplyMailLink(project: project, code: secret)
    (apply.app, apply.newPassword, apply.isLook, apply.client) = (app, secret, true, client)
    var signIn = SignInWithMailLink(project: project, credential: secret, replyKey: replyKey)
    (signIn.app, signIn.idToken, signIn.client) = (app, secret, client)
    return [
      try Sample(
        sends, least: SendMailLink(project: project, purpose: .signIn, addresses: secret, replyKey: replyKey)),
      try Sample([apply], least: ApplyMailLink(project: project, code: secret)),
      try Sample([signIn], least: SignInWithMailLink(project: project, credential: secret, replyKey: replyKey)),
    ]
  }

  static func passwordReplies() throws -> [Sample] {
    var sent = MailLinkSent(email: "ada@example.com")
    sent.link = secret
    var applied = MailLinkApplied(purpose: .changeAddress, email: "ada@example.com")
    (applied.newEmail, applied.localID) = ("countess@example.com", account)
    let reverted = secondFactors.map { factor in
      var applied = MailLinkApplied(purpose: .revertSecondFactor, email: "ada@example.com")
      applied.secondFactor = factor
      return applied
    }
    return [
      try Sample([MethodsFound(isRegistered: true, methods: ["password"])], least: MethodsFound()),
      try Sample([sent], least: MailLinkSent(email: "ada@example.com")),
      try Sample([applied] + reverted, least: MailLinkApplied(purpose: .resetPassword, email: "ada@example.com")),
    ]
  }

  static func passwordTexts() -> [(schema: String, least: any SealedText, full: any SealedText)] {
    var credential = PasswordCredential(email: "ada@example.com", password: "secret1")
    credential.displayName = "Ada"
    let link = MailLink(code: "c", url: "https://example.com/?oobCode=c")
    return [
      ("PasswordCredential", PasswordCredential(), credential),
      (
        "MailLinkAddresses", MailLinkAddresses(),
        MailLinkAddresses(email: "ada@example.com", newEmail: "countess@example.com")
      ), ("MailLink", link, link),
      ("MailLinkCredential", MailLinkCredential(), MailLinkCredential(email: "ada@example.com", code: "c")),
    ]
  }
}
