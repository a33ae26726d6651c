internal import AMQP
internal import CurlTransport
internal import Messages
internal import Telemetry

/// The commands on a real installation.
struct LiveBackend: OperatorBackend {
  let configuration: OperatorConfiguration
  let clock: any WallClock
  let timeout: Duration

  func withManagement<Result: Sendable>(
    _ body: (ManagementAPI) async throws(OperationsError) -> Result
  ) async throws(OperationsError) -> Result {
    let (address, virtualHost) = try managementAddress()
    return try await withTransport { (transport) throws(OperationsError) in
      try await body(
        ManagementAPI(
          transport: CurlManagement(transport: transport, address: address, timeout: timeout), virtualHost: virtualHost)
      )
    }
  }

  func withDeadQueue(
    _ body: (any DeadQueue) async throws(OperationsError) -> DeadLetters.Outcome
  ) async throws(OperationsError) -> DeadLetters.Outcome {
    let connection = try await open(try configuration.operatorUser.endpoint())
    let outcome: DeadLetters.Outcome
    do {
      outcome = try await body(AdminDeadQueue(connection: connection))
    } catch {
      await Self.close(connection)
      throw error
    }
    do {
      // The end of the connection returns what was taken and not removed; its answer proves that the removals were read.
      try await connection.close()
    } catch {
      throw OperationsError(error)
    }
    return outcome
  }

  func send<C: Command>(_ command: C, timeout: Duration) async throws(OperationsError) -> C.Reply {
    let body: [UInt8]
    do { body = try command.json() } catch { throw OperationsError(.badInput, error.description) }
    let id = MessageID.make()
    let reply = try await request(
      Envelope(type: C.type, messageID: id, correlationID: id, timestamp: clock.now(), appID: Self.appID),
      body: body, exchange: Topology.Exchanges.commands, routingKey: C.routingKey, timeout: timeout)
    return try Self.reply(reply)
  }

  func enqueue(_ job: EnqueuedJob, timeout: Duration) async throws(OperationsError) -> JobResult {
    let reply = try await request(
      Envelope(
        type: job.type, messageID: job.messageID, correlationID: job.correlationID ?? job.messageID,
        timestamp: clock.now(), appID: Self.appID),
      body: job.body, exchange: Topology.Exchanges.jobs, routingKey: job.type.name, timeout: timeout)
    do { return try JobResult(json: reply.body) } catch { throw Self.notUnderstood(error) }
  }

  func endpoints() throws(OperationsError) -> (service: BrokerEndpoint, operatorUser: BrokerEndpoint) {
    (try configuration.service.endpoint(), try configuration.operatorUser.endpoint())
  }

  /// Names this program in messages and on the broker's list of connections.
  static let appID = "countersign"

  // MARK: - Inside

  private func request(
    _ envelope: Envelope, body: [UInt8], exchange: String, routingKey: String, timeout: Duration
  ) async throws(OperationsError) -> Message {
    let endpoint = try configuration.service.endpoint()
    // A client goes on trying for as long as its caller waits; somebody at a terminal wants to know at once that the
    // broker is not there or refuses him.
    await Self.close(try await open(endpoint))
    let client = RequestClient(endpoint: endpoint, options: ConnectionOptions(name: Self.appID), onEvent: { _ in })
    async let running: Void = client.run()
    let result: Result<Message, AMQPError>
    do {
      result = .success(
        try await client.request(
          envelope.message(body: body), exchange: exchange, routingKey: routingKey, timeout: timeout))
    } catch {
      result = .failure(error)
    }
    await client.stop()
    await running
    do { return try result.get() } catch { throw Self.explain(error, exchange: exchange, routingKey: routingKey) }
  }

  private static func explain(_ error: AMQPError, exchange: String, routingKey: String) -> OperationsError {
    switch error.code {
    case .notFound:
      OperationsError(
        .unavailable, "nothing on the broker takes \(routingKey) of \(exchange): run countersign topology apply")
    case .timedOut:
      OperationsError(
        .unavailable,
        "no answer to \(routingKey) in time: is its process running? countersign doctor tells; it may still be carried out"
      )
    default: OperationsError(error)
    }
  }

  private static func reply<Reply: MessageBody>(_ message: Message) throws(OperationsError) -> Reply {
    do {
      if message.type == ErrorReply.type.text { throw OperationsError(try ErrorReply(json: message.body).error) }
      return try Reply(json: message.body)
    } catch let error as OperationsError {
      throw error
    } catch {
      throw notUnderstood(error)
    }
  }

  private static func notUnderstood(_ error: any Error) -> OperationsError {
    OperationsError(.internalError, "the answer is not understood (\(error)): are all programs of the same version?")
  }

  func open(_ endpoint: BrokerEndpoint) async throws(OperationsError) -> AdminConnection {
    do {
      return try await AdminConnection.open(
        endpoint: endpoint, options: ConnectionOptions(name: Self.appID, connectTimeout: min(timeout, .seconds(10))))
    } catch {
      throw OperationsError(error)
    }
  }

  /// Closes a connection that nothing depends on any more.
  static func close(_ connection: AdminConnection) async {
    do {
      try await connection.close()
    } catch {
      // It is gone already, which is what was wanted.
    }
  }

  func managementAddress() throws(OperationsError) -> (HTTPAddress, virtualHost: String) {
    let endpoint = configuration.operatorUser.url == nil ? nil : try configuration.operatorUser.endpoint()
    if let url = configuration.managementURL {
      let address = try HTTPAddress(url.reveal())
      let credentials = address.credentials ?? endpoint.map { "\($0.username):\($0.password)" }
      return (HTTPAddress(base: address.base, credentials: credentials), endpoint?.virtualHost ?? "/")
    }
    throw OperationsError(
      .configuration,
      "the management API's address is not known: set COUNTERSIGN_MANAGEMENT_URL, or management.url in Config/countersign.json5"
    )
  }

  func withTransport<Result: Sendable>(
    _ body: (CurlTransport) async throws(OperationsError) -> Result
  ) async throws(OperationsError) -> Result {
    let transport: CurlTransport
    do {
      transport = try CurlTransport(CurlTransport.Configuration(maxConcurrent: 16, userAgent: Self.appID))
    } catch {
      throw OperationsError(.internalError, error.description)
    }
    let result: Swift.Result<Result, OperationsError>
    do { result = .success(try await body(transport)) } catch { result = .failure(error) }
    await transport.shutdown()
    return try result.get()
  }
}
