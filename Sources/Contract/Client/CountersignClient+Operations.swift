public import CountersignMessages
public import CountersignTelemetry

extension CountersignClient {
  /// Requests a receipt for an app, and a push of the receipt's secret to the device.
  ///
  /// The app returns both with ``startVerification(of:app:region:languageCode:proof:client:timeout:)``. The push
  /// follows the answer closely: pass the receipt to the app without delay.
  /// - Parameters:
  ///   - app: bundle ID of the app.
  ///   - deviceToken: device token from Apple, in hexadecimal.
  ///   - environment: push service of the token, if the app knows it.
  ///   - client: client on whose behalf the service asks, for the limits per address.
  ///   - timeout: time to wait for the answer.
  /// - Throws: ``ClientError``; with `MISSING_IOS_APP_TOKEN` and `INVALID_APP_CREDENTIAL` the app should fall back to
  ///   reCAPTCHA at once.
  public func verifyApp(
    _ app: String, deviceToken: String, environment: PushEnvironment? = nil, client: StartVerification.Client? = nil,
    timeout: Duration = defaultTimeout
  ) async throws(ClientError) -> AppVerifying {
    try await send(
      VerifyApp(app: app, deviceToken: deviceToken, environment: environment, client: client), timeout: timeout)
  }

  /// Starts the revocation of a Sign in with Apple token. The same token twice is one operation.
  /// - Parameters:
  ///   - token: the token; sealed if the client has keys.
  ///   - kind: kind of the token.
  ///   - app: bundle ID of the user's app.
  ///   - clientID: Services ID, if Apple issued the token to one.
  ///   - redirectURI: redirect URI of the authorization request, if it had one.
  ///   - notify: recipient of a mail after the revocation.
  ///   - timeout: time to wait for the answer, which says that the operation has started.
  /// - Returns: the operation; the events `operation.completed` and `operation.failed` and
  ///   ``operationStatus(_:timeout:)`` report its end.
  public func revoke(
    _ token: Secret, kind: AppleToken.Kind, app: String, clientID: String? = nil, redirectURI: String? = nil,
    notify: StartRevocation.Notice? = nil, timeout: Duration = defaultTimeout
  ) async throws(ClientError) -> OperationStarted {
    let id = MessageID.make()
    let field = try seal(token, for: StartRevocation.type, id: id, recipient: app)
    return try await send(
      StartRevocation(
        app: app, clientID: clientID, token: AppleToken(kind, field), redirectURI: redirectURI, notify: notify),
      id: id, timeout: timeout)
  }

  /// Reads the state and the timeline of a revocation, or of the push of a receipt.
  public func operationStatus(
    _ operationID: String, timeout: Duration = defaultTimeout
  ) async throws(ClientError) -> OperationStatus {
    try await send(GetOperationStatus(operationID: operationID), timeout: timeout)
  }

  /// Proof that a request comes from an app.
  public enum AppProof: Sendable {
    /// Receipt from ``verifyApp(_:deviceToken:environment:client:timeout:)`` and secret from the push.
    case push(receipt: String, secret: Secret)
    /// Token from reCAPTCHA. The start is answered after the token's assessment.
    /// - Parameters:
    ///   - token: the token.
    ///   - receipt: receipt of a push that did not arrive; the timeline then gives the reason.
    case recaptcha(token: Secret, receipt: String? = nil)
  }

  /// The proof as a field of a message, sealed for that message if the client has keys.
  func field(_ proof: AppProof, app: String, id: String) throws(ClientError) -> StartVerification.Proof {
    switch proof {
    case .push(let receipt, let secret):
      return StartVerification.Proof(
        receipt: receipt, secret: try seal(secret, for: StartVerification.type, id: id, recipient: app))
    case .recaptcha(let token, let receipt):
      var field = StartVerification.Proof(
        recaptchaToken: try seal(token, for: StartVerification.type, id: id, recipient: app))
      field.receipt = receipt
      return field
    }
  }
}
