import CountersignAMQP
public import CountersignMessages
public import CountersignTelemetry

extension CountersignClient {
  /// Enqueues a job and returns when the broker has stored it. The result is published to the exchange of the results.
  /// - Parameters:
  ///   - job: the job.
  ///   - id: message ID; the same ID twice has one effect. A new ID by default.
  ///   - correlationID: correlation ID of the results; the message ID by default.
  ///   - queue: queue of the job's worker, by default the one named after the job's type: `Topology.Queues.smsBulk` for
  ///     SMS that can wait.
  ///   - timeout: time to wait for the broker.
  /// - Returns: the job's message ID.
  @discardableResult
  public func enqueue<J: Job>(
    _ job: J, id: String = MessageID.make(), correlationID: String? = nil, queue: String? = nil,
    timeout: Duration = defaultTimeout
  ) async throws(ClientError) -> String {
    try await enqueue(
      type: J.type, body: Self.body(of: job), id: id, correlationID: correlationID, queue: queue, timeout: timeout)
  }

  /// Enqueues a job whose body is JSON already.
  @discardableResult
  public func enqueue(
    type: MessageType, body: [UInt8], id: String = MessageID.make(), correlationID: String? = nil,
    queue: String? = nil, timeout: Duration = defaultTimeout
  ) async throws(ClientError) -> String {
    let key = queue ?? type.name
    let envelope = stamped(Envelope(type: type, messageID: id, correlationID: correlationID ?? id))
    let publication = Publication(
      message: envelope.message(body: body), exchange: Topology.Exchanges.jobs, routingKey: key)
    let outcome: PublishOutcome?
    do {
      outcome = try await transport.publish([publication], timeout: timeout).first
    } catch {
      throw .broker(error, key, transport.status)
    }
    switch outcome {
    case .confirmed: return id
    case .returned: throw .broker(AMQPError(.notFound, "returned"), key, nil)
    case .nacked, nil: throw .broker(AMQPError(.nacked, "nacked"), key, nil)
    }
  }

  /// Enqueues a job and waits for its result.
  ///
  /// The result is final. After a timeout the job continues until its deadline; a second call with the same `id`
  /// returns the recorded result and does not run the job again.
  /// - Parameters:
  ///   - job: the job.
  ///   - id: message ID; the same ID twice has one effect. A new ID by default.
  ///   - queue: queue of the job's worker, by default the one named after the job's type.
  ///   - timeout: time to wait for the result; a job has its result by its deadline.
  public func perform<J: Job>(
    _ job: J, id: String = MessageID.make(), queue: String? = nil, timeout: Duration
  ) async throws(ClientError) -> JobResult {
    try await perform(type: J.type, body: Self.body(of: job), id: id, queue: queue, timeout: timeout)
  }

  /// Enqueues a job whose body is JSON already, and waits for its result.
  public func perform(
    type: MessageType, body: [UInt8], id: String = MessageID.make(), queue: String? = nil, timeout: Duration
  ) async throws(ClientError) -> JobResult {
    let reply = try await request(
      Envelope(type: type, messageID: id, correlationID: id), body: body, exchange: Topology.Exchanges.jobs,
      routingKey: queue ?? type.name, timeout: timeout)
    do { return try JobResult(json: reply.body) } catch { throw .contract(error, in: "the result of \(type.name)") }
  }

  /// Seals a secret for a job that will be sent with an ID.
  ///
  /// ```swift
  /// let id = MessageID.make()
  /// let code = try client.seal(Secret("123456"), for: SMSDispatchJob.self, id: id, recipient: number)
  /// try await client.enqueue(
  ///   SMSDispatchJob(
  ///     to: number,
  ///     content: .template(name: "verification", languageCode: "fr", variables: .init(code: code)),
  ///     deadline: deadline),
  ///   id: id)
  /// ```
  /// - Parameters:
  ///   - secret: the secret.
  ///   - type: type of the job that will carry it.
  ///   - id: the job's message ID.
  ///   - recipient: recipient; for an SMS the phone number.
  /// - Returns: the secret, in the clear if the client has no keys.
  public func seal<J: Job>(
    _ secret: Secret, for type: J.Type, id: String, recipient: String
  ) throws(ClientError) -> SecretField {
    try seal(secret, for: J.type, id: id, recipient: recipient)
  }

  func seal(
    _ secret: Secret, for type: MessageType, id: String, recipient: String
  ) throws(ClientError) -> SecretField {
    guard let sealer else { return SecretField(secret) }
    do {
      return try sealer.seal(secret, for: SealContext(messageType: type, messageID: id, recipient: recipient))
    } catch {
      throw ClientError(.seal(error), "the secret \(error)")
    }
  }

  func request(
    _ envelope: Envelope, body: [UInt8], exchange: String, routingKey: String, timeout: Duration
  ) async throws(ClientError) -> Message {
    do {
      return try await transport.request(
        stamped(envelope).message(body: body), exchange: exchange, routingKey: routingKey, timeout: timeout)
    } catch {
      throw .broker(error, routingKey, transport.status)
    }
  }

  private func stamped(_ envelope: Envelope) -> Envelope {
    var envelope = envelope
    envelope.timestamp = clock.now()
    envelope.appID = name
    envelope.userID = userID
    envelope.trace = envelope.trace ?? .root()
    return envelope
  }

  private static func body<J: Job>(of job: J) throws(ClientError) -> [UInt8] {
    do { return try job.json() } catch { throw .contract(error, in: J.routingKey) }
  }
}
