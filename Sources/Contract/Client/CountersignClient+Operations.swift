public import CountersignMessages
public import CountersignTelemetry

extension CountersignClient {
  /// Gets a receipt for an app, and has the secret that belongs to it pushed to the device.
  ///
  /// The app returns both with ``startVerification(of:app:region:languageCode:proof:client:timeout:)``. The push is sent when this
  /// answer is on its way: hand it to the app without delay.
  /// - Parameters:
  ///   - app: its bundle ID.
  ///   - deviceToken: what the device got from Apple, in hexadecimal.
  ///   - environment: which push service the token belongs to, if the app knows.
  ///   - client: on whose behalf the service asks, for the limits per address.
  ///   - timeout: how long to wait for the answer.
  /// - Throws: ``ClientError``; `MISSING_IOS_APP_TOKEN` and `INVALID_APP_CREDENTIAL` tell the app to fall back to reCAPTCHA at once.
  public func verifyApp(
    _ app: String, deviceToken: String, environment: PushEnvironment? = nil, client: StartVerification.Client? = nil,
    timeout: Duration = defaultTimeout
  ) async throws(ClientError) -> AppVerifying {
    try await send(
      VerifyApp(app: app, deviceToken: deviceToken, environment: environment, client: client), timeout: timeout)
  }

  /// Asks for a token of Sign in with Apple to be revoked. The same token twice is one operation.
  /// - Parameters:
  ///   - token: the token; sealed on its way when the client has keys.
  ///   - kind: what it is.
  ///   - app: the app whose user it is: its bundle ID.
  ///   - clientID: the Services ID, when Apple gave the token to one.
  ///   - redirectURI: that of the authorization request, when it had one.
  ///   - notify: who is told by mail when it is done.
  ///   - timeout: how long to wait for the answer, which is that it has begun.
  /// - Returns: the operation; how it ends is told by the events `operation.completed` and `operation.failed`, and by
  ///   ``operationStatus(_:timeout:)``.
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

  /// Asks where a revocation, or the push of a receipt, stands and what has happened.
  public func operationStatus(
    _ operationID: String, timeout: Duration = defaultTimeout
  ) async throws(ClientError) -> OperationStatus {
    try await send(GetOperationStatus(operationID: operationID), timeout: timeout)
  }

  /// What shows that a request comes from an app.
  public enum AppProof: Sendable {
    /// What ``verifyApp(_:deviceToken:environment:client:timeout:)`` and the push have brought the app.
    case push(receipt: String, secret: Secret)
    /// What the app got from reCAPTCHA. The start is answered when the token was assessed.
    /// - Parameter receipt: the receipt of a push that did not come: the timeline then says why.
    case recaptcha(token: Secret, receipt: String? = nil)
  }

  /// The proof as a message carries it, sealed for that message when the client has keys.
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

  private func seal(
    _ secret: Secret, for type: MessageType, id: String, recipient: String
  ) throws(ClientError) -> SecretField {
    guard let sealer else { return SecretField(secret) }
    do {
      return try sealer.seal(secret, for: SealContext(messageType: type, messageID: id, recipient: recipient))
    } catch {
      throw ClientError(.seal(error), "the secret \(error)")
    }
  }
}
