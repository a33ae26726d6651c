import CountersignCryptography
import CountersignTelemetry

/// What a service account shows the token endpoint: a JWT that it signed (RFC 7523, section 3), in the form that Google asks for
/// (https://developers.google.com/identity/protocols/oauth2/service-account, "Preparing to make an authorized API call").
enum ServiceAccountAssertion {
  /// What the access token is for. reCAPTCHA Enterprise has no narrower scope; the account's roles are what limits it
  /// (https://cloud.google.com/recaptcha/docs/reference/rest/v1/projects.assessments/create, "Authorization scopes").
  static let scope = "https://www.googleapis.com/auth/cloud-platform"
  /// Google takes none with a longer life. A shorter one would only fail sooner where clocks differ.
  static let life: Duration = .seconds(3600)

  static func sign(_ account: ServiceAccount, now: UnixTime) throws(JOSEError) -> String {
    // Nothing in it needs escaping: reading the account has seen to that.
    let claims =
      #"{"iss":"\#(account.email)","scope":"\#(scope)","aud":"\#(account.tokenURI)","#
      + #""iat":\#(now.seconds),"exp":\#((now + life).seconds)}"#
    return try JWS.sign(Array(claims.utf8), with: account.key, header: ["typ": "JWT"])
  }
}
