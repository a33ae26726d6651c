import CountersignAMQP
public import CountersignMessages
public import CountersignTelemetry

extension CountersignClient {
  /// Enqueues a job and returns when the broker has it. What becomes of it is published to the exchange of the results.
  /// - Parameters:
  ///   - job: the job.
  ///   - id: its message ID; the same ID twice has one effect. A new one if not given.
  ///   - correlationID: what the results shall carry; the ID if not given.
  ///   - queue: the queue of the job's worker, if not the one that is named after the job's type: `Topology.Queues.smsBulk` for messages
  ///     that can wait.
  ///   - timeout: how long to wait for the broker.
  /// - Returns: the job's ID.
  @discardableResult
  public func enqueue<J: Job>(
    _ job: J, id: String = MessageID.make(), correlationID: String? = nil, queue: String? = nil,
    timeout: Duration = defaultTimeout
  ) async throws(ClientError) -> String {
    try await enqueue(
      type: J.type, body: Self.body(of: job), id: id, correlationID: correlationID, queue: queue, timeout: timeout)
  }

  /// Enqueues a job whose body is at hand as JSON.
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
  /// The result is final. When no answer comes in time, the job goes on all the same until its deadline; calling again with the
  /// same `id` gives the recorded result and does not carry it out twice.
  /// - Parameters:
  ///   - job: the job.
  ///   - id: its message ID; the same ID twice has one effect. A new one if not given.
  ///   - queue: the queue of the job's worker, if not the one that is named after the job's type.
  ///   - timeout: how long to wait for the result; longer than the job's deadline is of no use.
  public func perform<J: Job>(
    _ job: J, id: String = MessageID.make(), queue: String? = nil, timeout: Duration
  ) async throws(ClientError) -> JobResult {
    try await perform(type: J.type, body: Self.body(of: job), id: id, queue: queue, timeout: timeout)
  }

  /// Enqueues a job whose body is at hand as JSON, and waits for its result.
  public func perform(
    type: MessageType, body: [UInt8], id: String = MessageID.make(), queue: String? = nil, timeout: Duration
  ) async throws(ClientError) -> JobResult {
    let reply = try await request(
      Envelope(type: type, messageID: id, correlationID: id), body: body, exchange: Topology.Exchanges.jobs,
      routingKey: queue ?? type.name, timeout: timeout)
    do { return try JobResult(json: reply.body) } catch { throw .contract(error, in: "the result of \(type.name)") }
  }

  /// Seals a secret for a job that will be sent under an ID.
  ///
  /// ```swift
  /// let id = MessageID.make()
  /// let code = try client.seal(Secret("123456"), for: SMSDispatchJob.self, id: id, recipient: number)
  /// try await client.enqueue(
  ///   SMSDispatchJob(to: number, content: .template(name: "verification", languageCode: "fr", variables: .init(code: code)), …), id: id)
  /// ```
  /// - Parameters:
  ///   - secret: the secret.
  ///   - type: the type of the job that will carry it.
  ///   - id: the job's message ID.
  ///   - recipient: whom it is for; for an SMS the phone number.
  /// - Returns: the secret in the clear when the client has no keys.
  public func seal<J: Job>(
    _ secret: Secret, for type: J.Type, id: String, recipient: String
  ) throws(ClientError) -> SecretField {
    guard let sealer else { return SecretField(secret) }
    do {
      return try sealer.seal(secret, for: SealContext(messageType: J.type, messageID: id, recipient: recipient))
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
