/// Enumerations of the protocol: names of their cases in the order of their numbers, from 0.
enum ProtocolEnumeration {
  static let clientType = ["CLIENT_TYPE_UNSPECIFIED", "CLIENT_TYPE_WEB", "CLIENT_TYPE_ANDROID", "CLIENT_TYPE_IOS"]
  static let recaptchaVersion = ["RECAPTCHA_VERSION_UNSPECIFIED", "RECAPTCHA_ENTERPRISE"]
  static let phoneOperation = ["VERIFY_OP_UNSPECIFIED", "SIGN_UP_OR_IN", "REAUTH", "UPDATE", "LINK"]
  static let passwordHashOrder = ["UNSPECIFIED_ORDER", "SALT_AND_PASSWORD", "PASSWORD_AND_SALT"]
  static let argon2Type = ["HASH_TYPE_UNSPECIFIED", "ARGON2_D", "ARGON2_ID", "ARGON2_I"]
  static let argon2Version = ["VERSION_UNSPECIFIED", "VERSION_10", "VERSION_13"]
  static let mailLink = [
    "OOB_REQ_TYPE_UNSPECIFIED", "PASSWORD_RESET", "OLD_EMAIL_AGREE", "NEW_EMAIL_ACCEPT", "VERIFY_EMAIL",
    "RECOVER_EMAIL", "EMAIL_SIGNIN", "VERIFY_AND_CHANGE_EMAIL", "REVERT_SECOND_FACTOR_ADDITION",
  ]
  static let tokenType = ["TOKEN_TYPE_UNSPECIFIED", "REFRESH_TOKEN", "ACCESS_TOKEN", "CODE"]
  static let userAttribute = [
    "USER_ATTRIBUTE_NAME_UNSPECIFIED", "EMAIL", "DISPLAY_NAME", "PROVIDER", "PHOTO_URL", "PASSWORD", "RAW_USER_INFO",
  ]
}

/// Values of `kind`, which answers of the older calls have.
enum AnswerKind {
  static let signUp = "identitytoolkit#SignupNewUserResponse"
  static let lookup = "identitytoolkit#GetAccountInfoResponse"
  static let update = "identitytoolkit#SetAccountInfoResponse"
  static let delete = "identitytoolkit#DeleteAccountResponse"
  static let signInWithIDP = "identitytoolkit#VerifyAssertionResponse"
  static let signInWithPassword = "identitytoolkit#VerifyPasswordResponse"
  static let signInWithCustomToken = "identitytoolkit#VerifyCustomTokenResponse"
  static let sendOobCode = "identitytoolkit#GetOobConfirmationCodeResponse"
  static let resetPassword = "identitytoolkit#ResetPasswordResponse"
  static let signInWithEmailLink = "identitytoolkit#EmailLinkSigninResponse"
  static let createAuthURI = "identitytoolkit#CreateAuthUriResponse"
  static let download = "identitytoolkit#DownloadAccountResponse"
  static let upload = "identitytoolkit#UploadAccountResponse"
  static let recaptchaParams = "identitytoolkit#GetRecaptchaParamResponse"
}

extension CallBody {
  /// Maximum bytes of a secret that a client brings: tokens of Apple and Google have a few thousand.
  static let maxSecretBytes = 16 * 1024
  static let maxWordBytes = 256

  /// A secret or a token. `nil` when it is absent or empty.
  func secret(_ name: String, else code: String) throws(ProtocolError) -> String? {
    try text(name, max: Self.maxSecretBytes, else: code)
  }

  /// An ID, a number, a code. `nil` when it is absent or empty.
  func word(_ name: String, else code: String) throws(ProtocolError) -> String? {
    try text(name, max: Self.maxWordBytes, else: code)
  }

  /// - Parameter missing: code of the error where it is absent or empty.
  func secret(_ name: String, else code: String, missing: String) throws(ProtocolError) -> String {
    guard let text = try secret(name, else: code) else { throw .account(missing) }
    return text
  }

  /// - Parameter missing: code of the error where it is absent or empty.
  func word(_ name: String, else code: String, missing: String) throws(ProtocolError) -> String {
    guard let text = try word(name, else: code) else { throw .account(missing) }
    return text
  }

  private func text(_ name: String, max: Int, else code: String) throws(ProtocolError) -> String? {
    guard let text = try text(name) else { return nil }
    guard text.utf8.count <= max else { throw .account(code) }
    return text
  }

  func requiredIDToken() throws(ProtocolError) -> String {
    try secret("idToken", else: "INVALID_ID_TOKEN", missing: "MISSING_ID_TOKEN")
  }

  /// Refuses tenants, which are not offered.
  func checkTenant() throws(ProtocolError) {
    if try text("tenantId") != nil { throw .notOffered }
  }
}
