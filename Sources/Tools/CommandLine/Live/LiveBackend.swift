internal import CountersignAMQP
internal import CountersignClient
internal import CountersignMessages
internal import CountersignTelemetry
internal import HTTPClient
internal import ServiceRuntime

/// The commands on a real installation.
struct LiveBackend: OperatorBackend {
  let configuration: OperatorConfiguration
  let clock: any WallClock
  let timeout: Duration

  func withManagement<Result: Sendable>(
    _ body: (ManagementAPI) async throws(OperationsError) -> Result
  ) async throws(OperationsError) -> Result {
    let (address, virtualHost) = try managementAddress()
    return try await withTransport(caFile: configuration.managementCAFile) { (transport) throws(OperationsError) in
      try await body(
        ManagementAPI(
          transport: CurlManagement(transport: transport, address: address, timeout: timeout), virtualHost: virtualHost)
      )
    }
  }

  func withDeadQueue(
    _ body: (any DeadQueue) async throws(OperationsError) -> DeadLetters.Outcome
  ) async throws(OperationsError) -> DeadLetters.Outcome {
    let endpoint = try configuration.operatorUser.endpoint()
    let connection = try await open(endpoint)
    let outcome: DeadLetters.Outcome
    do {
      outcome = try await body(AdminDeadQueue(connection: connection, user: endpoint.username))
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
    try await withClient { client in try await client.send(command, timeout: timeout) }
  }

  func sendAsOperator<C: Command>(_ command: C, timeout: Duration) async throws(OperationsError) -> C.Reply {
    try await withClient(of: try configuration.operatorUser.endpoint()) { client in
      try await client.send(command, timeout: timeout)
    }
  }

  func enqueue(_ job: EnqueuedJob, timeout: Duration) async throws(OperationsError) -> JobResult {
    if let queue = job.queue { try await requireConsumer(of: queue) }
    return try await withClient { client in
      try await client.perform(
        type: job.type, body: job.body, id: job.messageID, queue: job.queue, timeout: timeout)
    }
  }

  /// A queue for messages that can wait is consumed only where a worker is configured to. One that nobody takes would stay in it.
  private func requireConsumer(of queue: String) async throws(OperationsError) {
    let connection = try await open(try configuration.service.endpoint())
    let found: Result<DeclaredQueue, AMQPError>
    do { found = .success(try await connection.declareQueue(queue, passive: true)) } catch { found = .failure(error) }
    await Self.close(connection)
    switch found {
    case .failure(let error): throw OperationsError(error)
    case .success(let state):
      guard state.consumerCount == 0 else { return }
      throw OperationsError(
        .refused, "nobody takes messages from \(queue), so this one was not sent: set bulk.share of an sms-worker")
    }
  }

  func endpoints() throws(OperationsError) -> (service: BrokerEndpoint, operatorUser: BrokerEndpoint) {
    (try configuration.service.endpoint(), try configuration.operatorUser.endpoint())
  }

  /// Names this program in messages and on the broker's list of connections.
  static let appID = "countersign"

  // MARK: - Inside

  private func withClient<Reply: Sendable>(
    _ body: @Sendable (CountersignClient) async throws -> Reply
  ) async throws(OperationsError) -> Reply {
    try await withClient(of: try configuration.service.endpoint(), body)
  }

  private func withClient<Reply: Sendable>(
    of endpoint: BrokerEndpoint, _ body: @Sendable (CountersignClient) async throws -> Reply
  ) async throws(OperationsError) -> Reply {
    // A client goes on trying for as long as its caller waits; somebody at a terminal wants to know at once that the
    // broker is not there or refuses him.
    await Self.close(try await open(endpoint))
    do {
      return try await CountersignClient.with(endpoint: endpoint, name: Self.appID, body)
    } catch let error as ClientError {
      throw OperationsError(error)
    } catch {
      throw OperationsError(.internalError, "unexpected: \(type(of: error))")
    }
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
      guard configuration.allowsPlaintextManagement || URLParts(address.base)?.isUnprotected != true else {
        throw OperationsError(
          .configuration,
          "the management API at \(address.base) is on another machine without TLS, so the operator's password would be readable on the way: use https://, or set management.allowPlaintext (COUNTERSIGN_MANAGEMENT_ALLOW_PLAINTEXT)"
        )
      }
      let credentials = address.credentials ?? endpoint.map { "\($0.username):\($0.password)" }
      return (HTTPAddress(base: address.base, credentials: credentials), endpoint?.virtualHost ?? "/")
    }
    throw OperationsError(
      .configuration,
      "the management API's address is not known: set COUNTERSIGN_MANAGEMENT_URL, or management.url in Config/countersign.json5"
    )
  }

  func withTransport<Result: Sendable>(
    caFile: String? = nil, _ body: (HTTPClient) async throws(OperationsError) -> Result
  ) async throws(OperationsError) -> Result {
    let transport: HTTPClient
    do {
      transport = try HTTPClient(
        HTTPClient.Configuration(maxConcurrent: 16, caFile: caFile, userAgent: Self.appID))
    } catch {
      throw OperationsError(.internalError, error.description)
    }
    let result: Swift.Result<Result, OperationsError>
    do { result = .success(try await body(transport)) } catch { result = .failure(error) }
    await transport.shutdown()
    return try result.get()
  }
}
