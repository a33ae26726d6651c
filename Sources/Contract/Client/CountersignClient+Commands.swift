import CountersignAMQP
public import CountersignMessages
public import CountersignTelemetry

extension CountersignClient {
  /// Asks for a phone number to be verified.
  ///
  /// Asking again for the same requester while a verification of the same number, purpose and subject lives gives that one; no second SMS is
  /// sent before its `resendAfter`.
  /// - Parameters:
  ///   - phoneNumber: E.164, or a national number together with `region`; either may be a `tel:` URI (RFC 3966).
  ///   - app: the app whose user holds the number: its bundle ID.
  ///   - region: ISO 3166-1 alpha-2.
  ///   - languageCode: the language of the message, BCP 47.
  ///   - proof: what shows that the request comes from the app, where the coordinator wants to see it.
  ///   - client: on whose behalf the service asks, for the limits per address.
  ///   - purpose: what the code is good for; signing in if absent.
  ///   - subject: for whom, opaque; needed by the purposes of second factors.
  ///   - requester: who asks, opaque; otherwise the device of the proof, or the client.
  ///   - timeout: how long to wait for the answer. A reCAPTCHA token is assessed first: wait longer than the coordinator's
  ///     `proof.assessmentTimeoutSeconds`.
  /// - Throws: ``ClientError``; see ``ClientError/apiError`` for the coordinator's reasons.
  public func startVerification(
    of phoneNumber: String, app: String, region: String? = nil, languageCode: String? = nil,
    proof: AppProof? = nil, client: StartVerification.Client? = nil, purpose: VerificationPurpose? = nil,
    subject: String? = nil, requester: String? = nil, timeout: Duration = defaultTimeout
  ) async throws(ClientError) -> VerificationStarted {
    let id = MessageID.make()
    var command = StartVerification(
      phoneNumber: phoneNumber, app: app, region: region, languageCode: languageCode, client: client, purpose: purpose,
      subject: subject, requester: requester)
    if let proof { command.proof = try field(proof, app: app, id: id) }
    return try await send(command, id: id, timeout: timeout)
  }

  /// Gives back the code that the user typed.
  /// - Parameters:
  ///   - verificationID: what the start was answered with.
  ///   - code: what the user typed.
  ///   - app: what the verification has to be for, like `purpose` and `subject`; not compared if absent.
  ///   - client: where the code comes from, for the limits per address.
  ///   - timeout: how long to wait for the answer.
  /// - Throws: ``ClientError``; `INVALID_CODE`, `SESSION_EXPIRED`, `INVALID_SESSION_INFO` and
  ///   `TOO_MANY_ATTEMPTS_TRY_LATER` are the answers to expect.
  public func check(
    _ verificationID: String, code: Secret, app: String? = nil, purpose: VerificationPurpose? = nil,
    subject: String? = nil, client: StartVerification.Client? = nil, timeout: Duration = defaultTimeout
  ) async throws(ClientError) -> VerificationApproved {
    let messageID = MessageID.make()
    var field = SecretField(code)
    if let sealer {
      let context = SealContext(
        messageType: CheckVerification.type, messageID: messageID, recipient: verificationID)
      do { field = try sealer.seal(code, for: context) } catch {
        throw ClientError(.seal(error), "the code \(error)")
      }
    }
    return try await send(
      CheckVerification(
        verificationID: verificationID, code: field, app: app, purpose: purpose, subject: subject, client: client),
      id: messageID, timeout: timeout)
  }

  /// Asks where a verification stands and what has happened.
  public func status(
    of verificationID: String, timeout: Duration = defaultTimeout
  ) async throws(ClientError) -> VerificationStatus {
    try await send(GetVerificationStatus(verificationID: verificationID), timeout: timeout)
  }

  /// Ends a verification.
  public func cancel(
    _ verificationID: String, timeout: Duration = defaultTimeout
  ) async throws(ClientError) -> VerificationCanceled {
    try await send(CancelVerification(verificationID: verificationID), timeout: timeout)
  }

  /// Sends any command and waits for its reply.
  /// - Parameters:
  ///   - command: the command.
  ///   - id: its message ID; the same ID twice has one effect. A new one if not given.
  ///   - timeout: how long to wait for the answer.
  public func send<C: Command>(
    _ command: C, id: String = MessageID.make(), timeout: Duration = defaultTimeout
  ) async throws(ClientError) -> C.Reply {
    let body: [UInt8]
    do { body = try command.json() } catch { throw .contract(error, in: C.routingKey) }
    let reply = try await request(
      Envelope(type: C.type, messageID: id, correlationID: id), body: body,
      exchange: Topology.Exchanges.commands, routingKey: C.routingKey, timeout: timeout)
    let result: Result<C.Reply, APIError>
    do { result = try Self.read(reply) } catch { throw .contract(error, in: "the reply to \(C.routingKey)") }
    switch result {
    case .success(let reply): return reply
    case .failure(let error): throw .refused(error)
    }
  }

  private static func read<Reply: MessageBody>(
    _ message: Message
  ) throws(ContractProblem) -> Result<Reply, APIError> {
    if message.type == ErrorReply.type.text { return .failure(try ErrorReply(json: message.body).error) }
    guard message.type == Reply.type.text else {
      throw ContractProblem(.unknownType, field: "type", "must be \(Reply.type) or \(ErrorReply.type)")
    }
    return .success(try Reply(json: message.body))
  }
}
