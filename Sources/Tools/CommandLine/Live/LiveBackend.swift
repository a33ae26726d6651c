import CountersignAMQP
import CountersignClient
import CountersignMessages
import CountersignTelemetry
import HTTPClient
import ServiceRuntime

struct LiveBackend: OperatorBackend {
  let configuration: OperatorConfiguration
  let clock: any WallClock
  let timeout: Duration

  var configDirectory: String? { configuration.configDirectory }

  func brokerURL(of user: String) throws(CommandLineError) -> String {
    var endpoint = try configuration.operatorUser.endpoint()
    endpoint.username = user
    return endpoint.description
  }

  func withManagement<Result: Sendable>(
    _ body: (ManagementAPI) async throws(CommandLineError) -> Result
  ) async throws(CommandLineError) -> Result {
    let (addresses, virtualHost) = try managementAddresses()
    return try await withTransport(caFile: configuration.managementCAFile) { (transport) throws(CommandLineError) in
      try await body(
        ManagementAPI(
          transport: CurlManagement(transport: transport, addresses: addresses, timeout: timeout),
          virtualHost: virtualHost))
    }
  }

  func withDeadQueue<Result: Sendable>(
    _ body: (any DeadQueue) async throws(CommandLineError) -> Result
  ) async throws(CommandLineError) -> Result {
    let connection = try await open(try configuration.operatorUser.endpoint())
    let outcome: Result
    do {
      outcome = try await body(connection)
    } catch {
      await Self.close(connection)
      throw error
    }
    do {
      // Closing returns all messages that were taken and not removed; the broker's answer proves that it read the
      // removals.
      try await connection.close()
    } catch {
      throw CommandLineError(error)
    }
    return outcome
  }

  func withDelayedQueues<Result: Sendable>(
    _ body: (any DelayedQueues) async throws(CommandLineError) -> Result
  ) async throws(CommandLineError) -> Result {
    let endpoint = try configuration.operatorUser.endpoint()
    let connection = try await open(endpoint)
    let queues = AdminDelayedQueues(connection: connection, endpoint: endpoint, options: connectionOptions())
    let outcome: Swift.Result<Result, CommandLineError>
    do { outcome = .success(try await body(queues)) } catch { outcome = .failure(error) }
    await Self.close(connection)
    return try outcome.get()
  }

  func send<C: Command>(_ command: C, timeout: Duration) async throws(CommandLineError) -> C.Reply {
    try await withClient { client in try await client.send(command, timeout: timeout) }
  }

  func sendAsOperator<C: Command>(_ command: C, timeout: Duration) async throws(CommandLineError) -> C.Reply {
    try await withClient(of: try configuration.operatorUser.endpoint()) { client in
      try await client.send(command, timeout: timeout)
    }
  }

  func sendForSecret<C: SecretReplyCommand>(
    _ command: C, timeout: Duration
  ) async throws(CommandLineError) -> (reply: C.Reply, id: String) {
    let id = MessageID.make()
    let reply = try await withClient(of: try configuration.operatorUser.endpoint()) { client in
      try await client.send(command, id: id, timeout: timeout)
    }
    return (reply, id)
  }

  func withProbe<Result: Sendable>(
    caFile: String?, _ body: (any HTTPProbe) async throws(CommandLineError) -> Result
  ) async throws(CommandLineError) -> Result {
    try await withTransport(caFile: caFile) { (transport) throws(CommandLineError) in
      try await body(CurlProbe(transport: transport, timeout: timeout))
    }
  }

  func enqueue(_ job: EnqueuedJob, timeout: Duration) async throws(CommandLineError) -> JobResult {
    if let queue = job.queue { try await requireConsumer(of: queue) }
    return try await withClient { client in
      try await client.perform(
        type: job.type, body: job.body, id: job.messageID, queue: job.queue, timeout: timeout)
    }
  }

  /// Only some workers are configured to consume the queue for SMS that can wait.
  private func requireConsumer(of queue: String) async throws(CommandLineError) {
    let connection = try await open(try configuration.service.endpoint())
    let found: Result<DeclaredQueue, AMQPError>
    do { found = .success(try await connection.declareQueue(queue, passive: true)) } catch { found = .failure(error) }
    await Self.close(connection)
    switch found {
    case .failure(let error): throw CommandLineError(error)
    case .success(let state):
      guard state.consumerCount == 0 else { return }
      throw CommandLineError(
        .refused, "no worker consumes \(queue), so this message was not sent: set bulk.share of an sms-worker")
    }
  }

  static let appID = "countersign"

  // MARK: - Inside

  private func withClient<Reply: Sendable>(
    _ body: @Sendable (CountersignClient) async throws -> Reply
  ) async throws(CommandLineError) -> Reply {
    try await withClient(of: try configuration.service.endpoint(), body)
  }

  func withClient<Reply: Sendable>(
    of endpoint: BrokerEndpoint, _ body: @Sendable (CountersignClient) async throws -> Reply
  ) async throws(CommandLineError) -> Reply {
    // A client keeps trying for as long as its caller waits; an operator needs to know at once that the broker is down
    // or refuses the user.
    await Self.close(try await open(endpoint))
    do {
      return try await CountersignClient.with(endpoint: endpoint, name: Self.appID, body)
    } catch let error as ClientError {
      throw CommandLineError(error)
    } catch let error as CommandLineError {
      throw error
    } catch {
      throw CommandLineError(.internalError, "unexpected: \(type(of: error))")
    }
  }

  func open(
    _ endpoint: BrokerEndpoint, within limit: Duration = .seconds(10)
  ) async throws(CommandLineError) -> AdminConnection {
    do {
      return try await AdminConnection.open(endpoint: endpoint, options: connectionOptions(within: limit))
    } catch {
      throw CommandLineError(error)
    }
  }

  private func connectionOptions(within limit: Duration = .seconds(10)) -> ConnectionOptions {
    ConnectionOptions(name: Self.appID, connectTimeout: min(timeout, limit), rpcTimeout: limit)
  }

  static func close(_ connection: AdminConnection) async {
    do {
      try await connection.close()
    } catch {
      // It is closed already.
    }
  }

  func managementAddresses() throws(CommandLineError) -> ([HTTPAddress], virtualHost: String) {
    let endpoint = configuration.operatorUser.url == nil ? nil : try configuration.operatorUser.endpoint()
    if let url = configuration.managementURL {
      let addresses = try HTTPAddress.list(url.reveal())
      for address in addresses
      where !configuration.allowsPlaintextManagement && URLParts(address.base)?.isUnprotected == true {
        throw CommandLineError(
          .configuration,
          "the management API at \(address.base) is on another machine without TLS, so the operator's password would be readable on the way: use https://, or set management.allowPlaintext (COUNTERSIGN_MANAGEMENT_ALLOW_PLAINTEXT)"
        )
      }
      let operatorUser = endpoint.map { "\($0.username):\($0.password)" }
      return (
        addresses.map { HTTPAddress(base: $0.base, credentials: $0.credentials ?? operatorUser) },
        endpoint?.virtualHost ?? "/"
      )
    }
    throw CommandLineError(
      .configuration,
      "the management API's address is not known: set COUNTERSIGN_MANAGEMENT_URL, or management.url in countersign.json5"
    )
  }

  func withTransport<Result: Sendable>(
    caFile: String? = nil, _ body: (HTTPClient) async throws(CommandLineError) -> Result
  ) async throws(CommandLineError) -> Result {
    let transport: HTTPClient
    do {
      transport = try HTTPClient(
        HTTPClient.Configuration(maxConcurrent: 16, caFile: caFile, userAgent: Self.appID))
    } catch {
      throw CommandLineError(.internalError, error.description)
    }
    let result: Swift.Result<Result, CommandLineError>
    do { result = .success(try await body(transport)) } catch { result = .failure(error) }
    await transport.shutdown()
    return try result.get()
  }
}
