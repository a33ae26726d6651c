import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

extension AccountView {
  /// The user as look-ups and lists show it.
  /// - Parameter hash: stored hash of the password, for who may read it. `nil`: only that there is one is told.
  func user(hash: String? = nil) -> CallAnswer {
    var user = CallAnswer()
    user.put("localId", localID)
    user.putProfile(of: self)
    if let hash { user.put("passwordHash", Base64.encode(Array(hash.utf8))) } else { user.putPassword(of: self) }
    user.put("passwordUpdatedAt", number: passwordChangedAt.map { Int($0.milliseconds) })
    user.put("emailLinkSignin", ifSo: signsInByLink)
    user.put("initialEmail", initialEmail)
    user.put("customAttributes", customAttributes)
    user.put("phoneNumber", phoneNumber)
    user.put("mfaInfo", objects: (secondFactors ?? []).map(\.enrollment))
    user.put("consents", objects: (consents ?? []).map(\.entry))
    user.put("disabled", ifSo: disabled)
    user.put("createdAt", asText: createdAt.milliseconds)
    user.put("lastLoginAt", asText: lastLoginAt.milliseconds)
    user.put("lastRefreshAt", lastRefreshAt?.rfc3339)
    user.put("validSince", asText: validSince.seconds)
    return user
  }

  /// Identities, then address, then number: what the account can sign in by.
  fileprivate var providers: [CallAnswer] {
    var providers = (identities ?? []).map(\.provider)
    if let email, passwordChangedAt != nil || signsInByLink == true {
      var password = CallAnswer()
      password.put("providerId", "password")
      password.put("rawId", email)
      password.put("federatedId", email)
      password.put("email", email)
      password.put("displayName", displayName)
      password.put("photoUrl", photoURL)
      providers.append(password)
    }
    if let phoneNumber {
      var phone = CallAnswer()
      phone.put("providerId", "phone")
      phone.put("rawId", phoneNumber)
      phone.put("phoneNumber", phoneNumber)
      providers.append(phone)
    }
    return providers
  }
}

extension IdentityView {
  fileprivate var provider: CallAnswer {
    var provider = CallAnswer()
    provider.put("providerId", providerID)
    provider.put("rawId", subject)
    provider.put("federatedId", subject)
    provider.put("email", email)
    provider.put("displayName", displayName)
    provider.put("photoUrl", photoURL)
    return provider
  }
}

extension CallAnswer {
  /// `REDACTED` in base64, in place of a hash. Without it the JavaScript SDK takes an account for anonymous.
  private static let redactedHash = "UkVEQUNURUQ="

  mutating func putProfile(of account: AccountView) {
    put("email", account.email)
    put("emailVerified", ifSo: account.emailVerified)
    put("displayName", account.displayName)
    put("photoUrl", account.photoURL)
    put("providerUserInfo", objects: account.providers)
  }

  mutating func putPassword(of account: AccountView) {
    if account.passwordChangedAt != nil { put("passwordHash", Self.redactedHash) }
  }
}
