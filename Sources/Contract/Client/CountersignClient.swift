public import CountersignAMQP
public import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

/// Sends commands to the coordinator and jobs to the workers.
///
/// A service makes one, runs it for as long as the service lives, and uses it from any task:
///
/// ```swift
/// import Client
///
/// let client = try CountersignClient(url: "amqp://my-service:secret@broker/", name: "my-service")
/// await withTaskGroup { group in
///   group.addTask { await client.run() }
///   …
///   let started = try await client.startVerification(of: "+14155550123", app: "com.example.app", languageCode: "pt-BR")
///   …
///   do {
///     let approved = try await client.check(started.verificationID, code: Secret(typed))
///   } catch let error where error.apiError?.code == .invalidCode {
///     // Ask again.
///   }
///   …
///   await client.stop()
/// }
/// ```
///
/// Calls wait for the connection, which is built anew whenever it is lost; their `timeout` bounds all of that. A command that is
/// sent again by the same call keeps its ID, so it has one effect.
public final class CountersignClient: Sendable {
  /// How long a call waits for its answer unless told otherwise.
  public static let defaultTimeout = Duration.seconds(10)

  let transport: any ClientTransport
  let name: String
  /// The user of the broker; the `user_id` of the messages. Nil when a client certificate says who the user is.
  let userID: String?
  let sealer: Sealer?
  let clock: any WallClock

  /// - Parameters:
  ///   - url: the broker, `amqp://` or `amqps://`.
  ///   - name: the name of the service; the `app_id` of its messages and the name of its connections.
  ///   - keys: seals the codes of checks, when given; the coordinator needs the same keys.
  ///   - onEvent: told what happens to the connections; must not block.
  /// - Throws: when the URL is not one.
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

  /// - Parameters:
  ///   - endpoint: the broker.
  ///   - name: the name of the service.
  ///   - keys: seals the codes of checks, when given.
  ///   - onEvent: told what happens to the connections; must not block.
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

  /// Keeps the connections up until ``stop()``. To be called once, in a task of its own.
  public func run() async {
    await transport.run()
  }

  /// Ends the connections. What still waits for an answer fails; what was published is confirmed first, within 10 s.
  public func stop() async {
    await transport.stop()
  }

  /// How the connection for requests is; `nil` when there is none.
  public var status: ConnectionStatus? { transport.status }

  /// Makes a client, runs it for as long as the body takes, and stops it.
  public static func with<Result: Sendable>(
    endpoint: BrokerEndpoint, name: String, keys: KeyRing? = nil,
    _ body: @Sendable (CountersignClient) async throws -> Result
  ) async throws -> Result {
    let client = CountersignClient(endpoint: endpoint, name: name, keys: keys)
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await client.run() }
      let result: Swift.Result<Result, any Error>
      do { result = .success(try await body(client)) } catch { result = .failure(error) }
      await client.stop()
      try await group.waitForAll()
      return try result.get()
    }
  }
}
