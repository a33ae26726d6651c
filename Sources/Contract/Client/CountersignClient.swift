public import CountersignAMQP
public import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

/// Sends commands to the coordinator and jobs to the workers.
///
/// A service creates one client, runs it as long as the service lives, and uses it from any task:
///
/// ```swift
/// import CountersignClient
///
/// try await CountersignClient.with(url: "amqp://my-service:secret@broker/", name: "my-service") { client in
///   let started = try await client.startVerification(
///     of: "+14155550123", app: "com.example.app", languageCode: "pt-BR")
///   …
///   do throws(ClientError) {
///     let approved = try await client.check(started.verificationID, code: Secret(typed))
///     …
///   } catch let error where error.apiError?.code == .invalidCode {
///     // Ask the user again.
///   }
/// }
/// ```
///
/// A service with a lifecycle of its own calls ``run()`` in one task and ``stop()`` from another.
///
/// A URL may name several hosts of the broker; a connection that is lost, or cannot be made, is made at the next one.
///
/// Calls wait for the connection, which is restored whenever it is lost; their `timeout` covers that too. A command
/// that one call sends repeatedly keeps its ID, so it has one effect.
public final class CountersignClient: Sendable {
  /// Time that a call waits for its answer by default.
  public static let defaultTimeout = Duration.seconds(10)

  let transport: any ClientTransport
  let name: String
  /// User of the broker and `user_id` of the messages. `nil` if a client certificate names the user.
  let userID: String?
  let sealer: Sealer?
  let clock: any WallClock

  /// Creates a client for the broker at a URL.
  /// - Parameters:
  ///   - url: broker, `amqp://` or `amqps://`; the nodes of a cluster with commas: `amqps://user:password@host1,host2/`.
  ///   - name: name of the service; the `app_id` of its messages and the name of its connections.
  ///   - keys: keys that seal codes and tokens; the coordinator needs the same keys. Without keys they travel in the
  ///     clear.
  ///   - onEvent: receives the events of the connections; must not block.
  /// - Throws: ``ClientError`` if the URL is malformed.
  public convenience init(
    url: String, name: String, keys: KeyRing? = nil,
    onEvent: @escaping @Sendable (ConnectionEvent) -> Void = { _ in }
  ) throws(ClientError) {
    let endpoint: BrokerEndpoint
    do {
      endpoint = try BrokerEndpoint(url: url)
    } catch {
      throw ClientError(.broker(error), error.message)
    }
    self.init(endpoint: endpoint, name: name, keys: keys, onEvent: onEvent)
  }

  /// Creates a client for a broker.
  /// - Parameters:
  ///   - endpoint: broker.
  ///   - name: name of the service; the `app_id` of its messages and the name of its connections.
  ///   - keys: keys that seal codes and tokens; the coordinator needs the same keys.
  ///   - onEvent: receives the events of the connections; must not block.
  public convenience init(
    endpoint: BrokerEndpoint, name: String, keys: KeyRing? = nil,
    onEvent: @escaping @Sendable (ConnectionEvent) -> Void = { _ in }
  ) {
    self.init(
      transport: BrokerTransport(endpoint: endpoint, name: name, onEvent: onEvent), name: name,
      userID: endpoint.username.isEmpty ? nil : endpoint.username, sealer: keys.map(Sealer.init(keys:)),
      clock: SystemClock())
  }

  init(
    transport: any ClientTransport, name: String, userID: String? = nil, sealer: Sealer?, clock: any WallClock
  ) {
    self.transport = transport
    self.name = name
    self.userID = userID
    self.sealer = sealer
    self.clock = clock
  }

  /// Keeps the connections up until ``stop()``. Call it once, in a task of its own.
  public func run() async {
    await transport.run()
  }

  /// Closes the connections. Calls that wait for an answer fail; published jobs are confirmed first, within 10 s.
  public func stop() async {
    await transport.stop()
  }

  /// State of the connection for requests. `nil` if there is none.
  public var status: ConnectionStatus? { transport.status }

  /// Runs a client while a closure uses it, and stops it afterwards.
  /// - Parameters:
  ///   - url: broker, `amqp://` or `amqps://`; the nodes of a cluster with commas: `amqps://user:password@host1,host2/`.
  ///   - name: name of the service; the `app_id` of its messages and the name of its connections.
  ///   - keys: keys that seal codes and tokens; the coordinator needs the same keys.
  ///   - body: uses the client.
  /// - Throws: ``ClientError`` if the URL is malformed, and the errors of the closure.
  public static func with<Result: Sendable>(
    url: String, name: String, keys: KeyRing? = nil,
    _ body: @Sendable (CountersignClient) async throws -> Result
  ) async throws -> Result {
    try await with(CountersignClient(url: url, name: name, keys: keys), body)
  }

  /// Runs a client of a broker while a closure uses it, and stops it afterwards.
  public static func with<Result: Sendable>(
    endpoint: BrokerEndpoint, name: String, keys: KeyRing? = nil,
    _ body: @Sendable (CountersignClient) async throws -> Result
  ) async throws -> Result {
    try await with(CountersignClient(endpoint: endpoint, name: name, keys: keys), body)
  }

  private static func with<Result: Sendable>(
    _ client: CountersignClient, _ body: @Sendable (CountersignClient) async throws -> Result
  ) async throws -> Result {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await client.run() }
      let result: Swift.Result<Result, any Error>
      do { result = .success(try await body(client)) } catch { result = .failure(error) }
      await client.stop()
      try await group.waitForAll()
      return try result.get()
    }
  }
}
