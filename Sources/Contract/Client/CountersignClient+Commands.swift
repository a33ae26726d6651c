import CountersignAMQP
public import CountersignMessages
public import CountersignTelemetry

extension CountersignClient {
  /// Starts the verification of a phone number for signing in.
  ///
  /// A repeated start by the same requester returns the running verification of the number; no second SMS is sent
  /// before its `resendAfter`.
  /// - Parameters:
  ///   - phoneNumber: E.164, or a national number together with `region`; either may be a `tel:` URI (RFC 3966).
  ///   - app: bundle ID of the app whose user holds the number.
  ///   - region: ISO 3166-1 alpha-2.
  ///   - languageCode: language of the SMS, BCP 47.
  ///   - proof: proof that the request comes from the app, if the coordinator requires one.
  ///   - client: client on whose behalf the service asks, for the limits per address.
  ///   - timeout: time to wait for the answer. A reCAPTCHA token is assessed first: wait longer than the coordinator's
  ///     `proof.assessmentTimeoutSeconds`.
  /// - Throws: ``ClientError``; see ``ClientError/apiError`` for the coordinator's reasons.
  public func startVerification(
    of phoneNumber: String, app: String, region: String? = nil, languageCode: String? = nil,
    proof: AppProof? = nil, client: StartVerification.Client? = nil, timeout: Duration = defaultTimeout
  ) async throws(ClientError) -> VerificationStarted {
    var command = StartVerification(phoneNumber: phoneNumber, app: app, languageCode: languageCode, client: client)
    command.region = region
    return try await startVerification(command, proof: proof, timeout: timeout)
  }

  /// Starts any verification: one with a purpose and a subject (second factors), or with a requester.
  /// - Parameters:
  ///   - command: the verification; its `proof` is replaced if `proof` is given.
  ///   - proof: proof that the request comes from the app, if the coordinator requires one.
  ///   - timeout: time to wait for the answer.
  /// - Throws: ``ClientError``; see ``ClientError/apiError`` for the coordinator's reasons.
  public func startVerification(
    _ command: StartVerification, proof: AppProof? = nil, timeout: Duration = defaultTimeout
  ) async throws(ClientError) -> VerificationStarted {
    let id = MessageID.make()
    var command = command
    if let proof { command.proof = try field(proof, app: command.app, id: id) }
    return try await send(command, id: id, timeout: timeout)
  }

  /// Checks the code that the user typed.
  /// - Parameters:
  ///   - verificationID: ID from the reply to the start.
  ///   - code: the user's input.
  ///   - app: expected app of the verification, like `purpose` and `subject`; not compared if absent.
  ///   - purpose: expected purpose of the verification.
  ///   - subject: expected subject of the verification.
  ///   - client: origin of the code, for the limits per address.
  ///   - timeout: time to wait for the answer.
  /// - Throws: ``ClientError``; expect `INVALID_CODE`, `SESSION_EXPIRED`, `INVALID_SESSION_INFO` and
  ///   `TOO_MANY_ATTEMPTS_TRY_LATER`.
  public func check(
    _ verificationID: String, code: Secret, app: String? = nil, purpose: VerificationPurpose? = nil,
    subject: String? = nil, client: StartVerification.Client? = nil, timeout: Duration = defaultTimeout
  ) async throws(ClientError) -> VerificationApproved {
    let id = MessageID.make()
    let field = try seal(code, for: CheckVerification.type, id: id, recipient: verificationID)
    return try await send(
      CheckVerification(
        verificationID: verificationID, code: field, app: app, purpose: purpose, subject: subject, client: client),
      id: id, timeout: timeout)
  }

  /// Reads the state and the timeline of a verification.
  public func status(
    of verificationID: String, timeout: Duration = defaultTimeout
  ) async throws(ClientError) -> VerificationStatus {
    try await send(GetVerificationStatus(verificationID: verificationID), timeout: timeout)
  }

  /// Cancels a verification.
  public func cancel(
    _ verificationID: String, timeout: Duration = defaultTimeout
  ) async throws(ClientError) -> VerificationCanceled {
    try await send(CancelVerification(verificationID: verificationID), timeout: timeout)
  }

  /// Sends any command and waits for its reply.
  /// - Parameters:
  ///   - command: the command.
  ///   - id: message ID; the same ID twice has one effect. A new ID by default.
  ///   - timeout: time to wait for the answer.
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
