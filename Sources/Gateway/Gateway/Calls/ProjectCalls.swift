import Projects

/// Calls about the project, which ask no service.
struct ProjectCalls: Sendable {
  let isDevelopment: Bool

  var routes: [Route] {
    [
      .v1("projects", .get, "projects", old: "getProjectConfig", waitsFor: .gateway, projects),
      .v1("recaptchaParams", .get, "recaptchaParams", old: "getRecaptchaParam", waitsFor: .gateway, recaptchaParams),
      .v2("recaptchaConfig", .get, "recaptchaConfig", waitsFor: .gateway, recaptchaConfig),
      .v2("passwordPolicy", .get, "passwordPolicy", waitsFor: .gateway, passwordPolicy),
    ]
  }

  /// The Apple SDK takes its auth domain from the list of domains.
  private func projects(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let project = try call.project()
    let missing = project.authDomain.map { project.authorizedDomains.contains($0) ? [] : [$0] } ?? []
    var answer = CallAnswer()
    answer.put("projectId", asText: project.number)
    answer.put("authorizedDomains", texts: project.authorizedDomains + missing)
    return answer
  }

  /// In development mode SDKs ask for the site key and do not use it.
  private func recaptchaParams(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    guard let siteKey = try call.project().recaptcha?.siteKey ?? (isDevelopment ? Self.developmentKey : nil) else {
      throw .account("RECAPTCHA_NOT_ENABLED")
    }
    var answer = CallAnswer(kind: AnswerKind.recaptchaParams)
    answer.put("recaptchaSiteKey", siteKey)
    return answer
  }

  private static let developmentKey = "Fake-key__Do_not_send_to_Google_or_recaptcha_"

  /// The enforcement alone decides: where it is off, SDKs go on with reCAPTCHA 2 or a push, but JavaScript's
  /// `initializeRecaptchaConfig` rejects an answer without a key.
  private func recaptchaConfig(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    _ = try call.query.enumeration("clientType", ProtocolEnumeration.clientType)
    _ = try call.query.enumeration("version", ProtocolEnumeration.recaptchaVersion)
    let recaptcha = try call.project().recaptcha
    let phone = recaptcha?.phone ?? .off
    var answer = CallAnswer()
    answer.put("recaptchaKey", recaptcha?.enterpriseKey)
    answer.put(
      "recaptchaEnforcementState",
      objects: [Self.state("PHONE_PROVIDER", phone), Self.state("EMAIL_PASSWORD_PROVIDER", .off)])
    return answer
  }

  /// Rules of the project's passwords, which SDKs check before they send one.
  private func passwordPolicy(_ call: Call) async throws(ProtocolError) -> CallAnswer {
    let rules = try call.project().passwords
    var options = CallAnswer()
    options.put("minPasswordLength", number: rules.minLength)
    options.put("maxPasswordLength", number: Project.PasswordRules.maxLength)
    options.put("containsLowercaseCharacter", ifSo: rules.needsLowercase)
    options.put("containsUppercaseCharacter", ifSo: rules.needsUppercase)
    options.put("containsNumericCharacter", ifSo: rules.needsDigit)
    options.put("containsNonAlphanumericCharacter", ifSo: rules.needsSymbol)
    var answer = CallAnswer()
    answer.put("customStrengthOptions", object: options)
    answer.put("allowedNonAlphanumericCharacters", texts: Self.symbols)
    answer.put("enforcementState", "ENFORCE")
    answer.put("schemaVersion", number: 1)
    return answer
  }

  /// The symbols of ASCII: what accounts takes for one.
  private static let symbols = (0x21...0x7E as ClosedRange<UInt8>).map { Character(UnicodeScalar($0)) }
    .filter { !$0.isLetter && !$0.isNumber }.map(String.init)

  private static func state(_ provider: String, _ enforcement: Project.Recaptcha.Enforcement) -> CallAnswer {
    var state = CallAnswer()
    state.put("provider", provider)
    state.put("enforcementState", enforcement.rawValue)
    return state
  }
}
