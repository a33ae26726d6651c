import JobEngine

extension Reason {
  /// A code may be used up, and the token that Apple gave for it is not known to anybody.
  static let lost = Reason(
    "LOST",
    "The exchange of the authorization code ended unknown or without a usable token, so the code may be used up and a token "
      + "may live that nobody knows. The user has to sign in with Apple again for another code, or stop using Apple ID with "
      + "this app: Settings > Apple Account > Sign in with Apple.")

  /// Apple did not say so, however often it was asked.
  static let notConfirmed = Reason(
    "NOT_CONFIRMED",
    "Apple was asked to revoke the token and did not confirm it before the deadline. Revoke it again: it is harmless twice."
  )

  /// Only the redirect URI can be what Apple objects to.
  static let redirectMismatch = Reason(
    "REDIRECT_URI_MISMATCH",
    "Apple takes the client and refuses the code with this redirectURI: it must be the one of the authorization request, and "
      + "absent for a code that an app got.", providerCode: AppleError.invalidClient)

  static let unknownClient = Reason(
    "UNKNOWN_CLIENT",
    "This worker has no lane for the client of this job: add it to `lanes`, or check app and clientID.")

  func with(providerCode: String?) -> Reason {
    var reason = self
    reason.providerCode = providerCode ?? reason.providerCode
    return reason
  }
}
