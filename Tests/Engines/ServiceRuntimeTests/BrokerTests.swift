import CountersignAMQP
import CountersignTelemetry
import ServiceRuntime
import TestSupport
import Testing

@Suite struct BrokerTests {
  private let sink = MemorySink()
  private let clocks = ManualClocks()
  private let here = BrokerHost("localhost", port: 5672)

  private func load(_ environment: [String: String]) throws(ConfigurationError) -> CommonConfiguration {
    try Listener.load(file: nil, environment: environment).content.common
  }

  private func context() -> ServiceContext {
    ServiceContext(
      name: "worker", instance: "worker@host/1", logger: Logger(label: "worker", sink: sink), clocks: clocks.clocks)
  }

  @Test func `The password file goes before the URL`() throws {
    try withTemporaryDirectory { directory in
      try write("from-file\n", to: directory + "/pw")
      let broker = try load([
        "COUNTERSIGN_BROKER_URL": "amqp://me:from-url@127.0.0.1:5700/v",
        "COUNTERSIGN_BROKER_PASSWORD_FILE": directory + "/pw",
      ]).broker
      #expect(broker.endpoint.password == "from-file")
      #expect(broker.endpoint.hosts == [BrokerHost("127.0.0.1", port: 5700)])
      #expect(!"\(broker)".contains("from-file"))
    }
  }

  @Test func `A changed password is the one of the next connect`() throws {
    try withTemporaryDirectory { directory in
      try write("old\n", to: directory + "/pw")
      let broker = try load([
        "COUNTERSIGN_BROKER_URL": "amqp://me@127.0.0.1", "COUNTERSIGN_BROKER_PASSWORD_FILE": directory + "/pw",
      ]).broker
      let options = BrokerConnectionSettings(broker, context()).options("publisher")
      try write("new\n", to: directory + "/pw")
      #expect(options.password?() == "new")
      // While an editor writes it, the last one counts.
      try write("", to: directory + "/pw")
      #expect(options.password?() == nil)
      #expect(broker.endpoint.password == "old")
    }
  }

  @Test func `A message that was held for too long is told as such`() throws {
    let broker = try load(["COUNTERSIGN_BROKER_URL": "amqp://me:p@localhost"]).broker
    let text = "the broker says PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out"
    BrokerConnectionSettings(broker, context()).observer("consumer")(
      .disconnected(AMQPError(.preconditionFailed, text, replyCode: 406), at: here, retryIn: .seconds(1)))
    #expect(sink.events.last.map { "\($0.message)" }?.contains("held for too long") == true)
  }

  @Test func `TLS comes with the scheme`() throws {
    let broker = try load(["COUNTERSIGN_BROKER_URL": "amqps://h", "COUNTERSIGN_BROKER_TLS_CA_FILE": "/ca.pem"]).broker
    #expect(broker.endpoint.tls?.caFile == "/ca.pem")
    #expect(broker.endpoint.tls?.verifyPeer == true)
    let error = #expect(throws: ConfigurationError.self) {
      try load(["COUNTERSIGN_BROKER_URL": "amqp://h", "COUNTERSIGN_BROKER_TLS_CA_FILE": "/ca.pem"])
    }
    #expect(error?.description.contains("write amqps:// in broker.url") == true)
  }

  @Test func `The network reads no password unless that is allowed`()
    throws
  {
    for host in ["broker.example", "10.0.0.1", "127.example", "[::2]"] {
      let environment = ["COUNTERSIGN_BROKER_URL": "amqp://me:hunter2@\(host)"]
      let error = #expect(throws: ConfigurationError.self, "\(host)") { try load(environment) }
      #expect(error?.description.contains("set broker.allowPlaintext to true") == true)
      #expect(error?.description.contains("hunter2") == false)
      #expect(error?.exitCode == .configuration)
      let allowed = environment.merging(["COUNTERSIGN_BROKER_ALLOW_PLAINTEXT": "true"]) { $1 }
      #expect(throws: Never.self, "\(host)") { try load(allowed) }
    }
    // One host of a list is enough for the network to read it.
    for hosts in ["localhost,broker.example", "127.0.0.1:5672,[::1],10.0.0.1:5672"] {
      #expect(throws: ConfigurationError.self) { try load(["COUNTERSIGN_BROKER_URL": "amqp://me:p@\(hosts)"]) }
    }
    for host in ["127.0.0.2", "[::1]", "LOCALHOST", "localhost,127.0.0.1,[::1]:5673"] {
      #expect(throws: Never.self, "\(host)") { try load(["COUNTERSIGN_BROKER_URL": "amqp://me:p@\(host)"]) }
    }
  }

  @Test func `A user needs a password`() throws {
    let error = #expect(throws: ConfigurationError.self) { try load(["COUNTERSIGN_BROKER_URL": "amqps://me@h"]) }
    #expect(error?.description.contains("broker.passwordFile: is required") == true)
    let certified = [
      "COUNTERSIGN_BROKER_URL": "amqps://me@h", "COUNTERSIGN_BROKER_TLS_CERTIFICATE_FILE": "/c.pem",
      "COUNTERSIGN_BROKER_TLS_KEY_FILE": "/k.pem",
    ]
    #expect(try load(certified).broker.endpoint.username == "me")
  }

  @Test func `A wrong address is a problem without the password`() {
    let error = #expect(throws: ConfigurationError.self) {
      try load(["COUNTERSIGN_BROKER_URL": "http://me:hunter2@h"])
    }
    #expect(error?.description.hasPrefix("COUNTERSIGN_BROKER_URL (overrides broker.url): ") == true)
    #expect(error?.description.contains("hunter2") == false)
  }

  @Test func `A list of hosts goes with the password of the file, and a wrong one is a problem of the key`() throws {
    let broker = try load(["COUNTERSIGN_BROKER_URL": "amqps://me:hunter2@a,b:5700/v"]).broker
    #expect(broker.endpoint.description == "amqps://me@a:5671,b:5700/v")
    let error = #expect(throws: ConfigurationError.self) {
      try load(["COUNTERSIGN_BROKER_URL": "amqps://me:hunter2@a,,b/v"])
    }
    #expect(error?.description.contains("broker.url): not an AMQP URL: host 2 of 3 is missing") == true)
    #expect(error?.description.contains("hunter2") == false)
  }

  @Test func `Log, metrics and readiness name the host in use, and repeat no host's error`() throws {
    let context = context()
    let settings = BrokerConnectionSettings(
      try load(["COUNTERSIGN_BROKER_URL": "amqp://me:hunter2@localhost,127.0.0.1:5673/v"]).broker, context)
    let other = BrokerHost("127.0.0.1", port: 5673)
    let observe = settings.observer("consumer")
    let away = AMQPError(.connectFailed, "away")
    let refused = AMQPError(.authenticationRefused, "refused")
    // The first round is logged, the ones right after it are not.
    for round in 0..<3 {
      observe(.disconnected(refused, at: here, retryIn: .zero))
      observe(.disconnected(away, at: other, retryIn: .zero))
      #expect(sink.events.count == 2, "round \(round)")
    }
    #expect(
      sink.events.map { $0.metadata["broker"] } == [
        .string("amqp://me@localhost:5672/v"), .string("amqp://me@127.0.0.1:5673/v"),
      ])
    observe(.certificates([.broker: 1_800_000_000, .client: 1_900_000_000], at: other))
    for (certificate, end) in [("broker", 1_800_000_000), ("broker client", 1_900_000_000)] {
      let series = "countersign_certificate_expires_seconds{certificate=\"\(certificate)\",host=\"\(other)\"} \(end)"
      #expect(context.metrics.render().contains(series))
    }
    observe(.connected(other))
    observe(.blocked(reason: "disk"))
    #expect(sink.events.last?.metadata["broker"] == .string("amqp://me@127.0.0.1:5673/v"))
    let used = { (host: BrokerHost, value: Int) in
      context.metrics.render().contains(
        "countersign_broker_host_in_use{connection=\"consumer\",host=\"\(host)\"} \(value)")
    }
    #expect(used(other, 1))
    observe(.disconnected(away, at: other, retryIn: .zero))
    observe(.connected(here))
    #expect(used(other, 0) && used(here, 1))
    #expect(context.metrics.render().contains("host=\"localhost:5672\",code=\"authenticationRefused\"} 3"))
    observe(.stopped)
    #expect(used(here, 0))
    #expect(!sink.lines().joined().contains("hunter2"))
  }

  @Test func `Events are logged with advice and counted`() throws {
    let context = context()
    let settings = BrokerConnectionSettings(
      try load(["COUNTERSIGN_BROKER_URL": "amqp://me:hunter2@localhost"]).broker, context)
    let observe = settings.observer("consumer")
    observe(.connected(here))
    #expect(context.metrics.render().contains("countersign_broker_connected{connection=\"consumer\"} 1"))
    observe(.disconnected(AMQPError(.authenticationRefused, "refused"), at: here, retryIn: .seconds(1)))
    let event = try #require(sink.events.last)
    #expect(event.level == .error)
    #expect(event.message == "the broker refuses the user or the password; trying again")
    #expect(event.metadata[.hint] != nil)
    #expect(!sink.lines().joined().contains("hunter2"))
    #expect(context.metrics.render().contains("countersign_broker_connected{connection=\"consumer\"} 0"))
    #expect(context.metrics.render().contains("code=\"authenticationRefused\"} 1"))
    let logged = sink.events.count
    observe(.disconnected(AMQPError(.authenticationRefused, "refused"), at: here, retryIn: .seconds(1)))
    #expect(sink.events.count == logged)
    clocks.stepWall(by: .seconds(3600))
    observe(.disconnected(AMQPError(.authenticationRefused, "refused"), at: here, retryIn: .seconds(1)))
    #expect(sink.events.count == logged)
    clocks.stepWall(by: .seconds(-7200))
    clocks.advance(by: BrokerConnectionSettings.repeatedErrorInterval)
    observe(.disconnected(AMQPError(.authenticationRefused, "refused"), at: here, retryIn: .seconds(1)))
    #expect(sink.events.count == logged + 1)
    observe(.disconnected(AMQPError(.connectFailed, "away"), at: here, retryIn: .seconds(1)))
    #expect(sink.events.count == logged + 2)
    #expect(settings.options("consumer").name == "worker@host/1 consumer")
  }
}
