import FoundationEssentials
import JobEngine
import ServiceRuntime
import TestSupport
import Testing

@testable import Mail

@Suite struct ConfigurationTests {
  private let file = Shipped.config + "/mail-worker.json5"

  private func load(_ text: String) throws -> MailWorkerConfiguration {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    return try MailWorkerConfiguration.load(file: directory.write(text, to: "mail-worker"), environment: [:]).content
  }

  private func problems(
    senders: String = #"{from: "a@example.com"}"#, lanes: String = #"{name: "a", host: "smtp.example.com"}"#
  ) -> String {
    let text = """
      {allowNoKeys: true, broker: {url: "amqp://a:b@localhost/"}, templates: {directory: "\(Shipped.config)/templates/mail"},
       providersDirectory: "\(Shipped.config)/providers", senders: [\(senders)], lanes: [\(lanes)]}
      """
    return problem { try load(text) }
  }

  /// The file that ships, with a password.
  private func loadShipped(_ environment: [String: String] = [:]) throws -> LoadedConfiguration<MailWorkerConfiguration>
  {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let secret = try directory.write("sesame", to: "password")
    let own = ["COUNTERSIGN_BROKER_PASSWORD_FILE": secret, "COUNTERSIGN_ALLOW_NO_KEYS": "true"]
    return try MailWorkerConfiguration.load(file: file, environment: environment.merging(own) { $1 })
  }

  @Test func `It is valid and everything it names is there`() throws {
    let loaded = try loadShipped()
    #expect(loaded.content.lanes.map(\.lane.name) == ["submission"])
    #expect(loaded.content.lanes.first?.lane.callTimeout == .seconds(600))
    // It has no key, which the relay would not forgive.
    #expect(loaded.warnings.contains { "\($0)".contains("DKIM") })
  }

  /// Settings by their variables, and whether each host of several would have a list of its own.
  @Test(
    arguments: [
      (["QUEUE_CONSUMERS": "severalHosts"], true), (["QUEUE_CONSUMERS": "severalHosts", "LEDGER_TYPE": "none"], true),
      (["LEDGER_TYPE": "postgresql", "SUPPRESSIONS_TYPE": "sqlite"], true),
      (["LEDGER_TYPE": "postgresql", "QUEUE_CONSUMERS": "severalHosts"], false), (["LEDGER_TYPE": "postgresql"], false),
      (["LEDGER_TYPE": "none"], false), (["SUPPRESSIONS_TYPE": "sqlite"], false),
    ])
  func `Hosts with a list each do not start: one of them alone would forget an address`(
    settings: [String: String], isRefused: Bool
  ) {
    var environment = Dictionary(uniqueKeysWithValues: settings.map { ("COUNTERSIGN_\($0)", $1) })
    if settings["LEDGER_TYPE"] == "postgresql" {
      environment["COUNTERSIGN_LEDGER_URL"] = "postgresql://worker@127.0.0.1/countersign"
    }
    let problem = problem { try loadShipped(environment) }
    #expect(problem.contains("is sqlite, a list of each host") == isRefused)
    #expect(problem.isEmpty != isRefused)
  }

  @Test func `It explains every key`() throws {
    let text = String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
    let keys =
      try MailWorkerConfiguration.keys(file: file).map(\.path) + [
        "senders.0.keys.0.selector", "senders.0.keys.0.keyFile", "senders.0.keys.0.domain",
      ]
    let unexplained = keys.filter { key in !text.contains("\(key.split(separator: ".").last ?? ""):") }
    #expect(unexplained.isEmpty)
  }

  @Test func `Nothing is wrong with a plain one`() { #expect(problems() == "") }

  @Test(
    arguments: [
      (#"{from: "nobody"}"#, "must be an address"), ("", "configure at least one"),
      (#"{from: "a@example.com", name: "a\nb"}"#, "one line"),
      (#"{from: "a@example.com", keys: [{selector: "s", keyFile: "/nonexistent"}]}"#, "does not exist"),
    ])
  func `Problems of senders are reported`(text: String, problem: String) {
    #expect(problems(senders: text).contains(problem))
  }

  @Test(
    arguments: [
      (#"{name: "a"}"#, "host: is required"), (#"{name: "a", host: "a b"}"#, "host name"),
      (#"{name: "a", host: "smtp.example.com", username: "u"}"#, "belong together"),
      (#"{name: "a", host: "smtp.example.com", clientName: "x/../y"}"#, "host name"),
      (#"{name: "a", host: "h.example"}, {name: "a", host: "h.example"}"#, "name of lanes.0 too"),
      (#"{name: "a", type: "sendmail"}"#, "type: must be one of smtp"),
    ])
  func `Problems of lanes are reported`(text: String, problem: String) {
    #expect(problems(lanes: text).contains(problem))
  }

  @Test func `A password is not sent in the clear`() throws {
    let path = temporaryPath("password")
    try Data("sesame".utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let lane = #"{name: "a", host: "smtp.example.com", security: "none", username: "u", passwordFile: "\#(path)"}"#
    #expect(problems(lanes: lane).contains("in the clear"))
  }
}
