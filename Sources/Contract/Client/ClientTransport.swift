import CountersignAMQP

/// Tests replace it.
protocol ClientTransport: Sendable {
  func run() async
  func stop() async
  var status: ConnectionStatus? { get }
  func request(
    _ message: Message, exchange: String, routingKey: String, timeout: Duration
  ) async throws(AMQPError) -> Message
  func publish(_ publications: [Publication], timeout: Duration) async throws(AMQPError) -> [PublishOutcome]
}

/// The broker: one connection for requests and one for publishing.
struct BrokerTransport: ClientTransport {
  private let requests: RequestClient
  private let publisher: Publisher

  init(endpoint: BrokerEndpoint, name: String, onEvent: @escaping @Sendable (ConnectionEvent) -> Void) {
    requests = RequestClient(
      endpoint: endpoint, options: ConnectionOptions(name: "\(name) requests"), onEvent: onEvent)
    publisher = Publisher(
      endpoint: endpoint, options: ConnectionOptions(name: "\(name) publisher"), onEvent: onEvent)
  }

  func run() async {
    async let first: Void = requests.run()
    async let second: Void = publisher.run()
    _ = await (first, second)
  }

  func stop() async {
    await requests.stop()
    await publisher.stop()
  }

  var status: ConnectionStatus? { requests.status }

  func request(
    _ message: Message, exchange: String, routingKey: String, timeout: Duration
  ) async throws(AMQPError) -> Message {
    try await requests.request(message, exchange: exchange, routingKey: routingKey, timeout: timeout)
  }

  func publish(_ publications: [Publication], timeout: Duration) async throws(AMQPError) -> [PublishOutcome] {
    try await publisher.publish(publications, timeout: timeout)
  }
}
