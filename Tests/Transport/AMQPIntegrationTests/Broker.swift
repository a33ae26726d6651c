import CountersignAMQP
import Foundation
import Synchronization
import Testing

/// The broker under test, from the environment. Tests fail when it is not there.
enum Broker {
  struct Missing: Error, CustomStringConvertible {
    var description: String
  }

  static func endpoint() throws -> BrokerEndpoint {
    try BrokerEndpoint(url: variable("COUNTERSIGN_TEST_AMQP_URL", "the URL of a RabbitMQ node for tests"))
  }

  static func host() throws -> BrokerHost { try endpoint().hosts[0] }

  static func variable(_ name: String, _ meaning: String) throws -> String {
    guard let value = ProcessInfo.processInfo.environment[name], !value.isEmpty else {
      throw Missing(description: "set \(name) to \(meaning)")
    }
    return value
  }

  @discardableResult
  static func ctl(_ arguments: String...) throws -> String {
    let path = try variable("COUNTERSIGN_TEST_BROKER_CTL", "a script that runs rabbitmqctl against that node")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let text = String(decoding: data, as: UTF8.self)
    guard process.terminationStatus == 0 else {
      throw Missing(description: "\(arguments.joined(separator: " ")) failed: \(text)")
    }
    return text
  }

  /// Silence is noticed in seconds. What takes time on a busy machine may take it.
  static func options(_ name: String) -> ConnectionOptions {
    ConnectionOptions(
      name: name, heartbeat: .seconds(2), connectTimeout: .seconds(30), rpcTimeout: .seconds(60),
      publishStallTimeout: .seconds(60), confirmTimeout: .seconds(60),
      reconnectDelay: ConnectionOptions.ReconnectDelay(min: .milliseconds(50), max: .milliseconds(500)))
  }

  static func withQueue<R>(
    arguments: [String: FieldValue] = [:], _ body: (String, AdminConnection) async throws -> R
  ) async throws -> R {
    let admin = try await AdminConnection.open(endpoint: endpoint(), options: options("admin"))
    let name = "test.\(UInt64.random(in: 0...UInt64.max))"
    let all = arguments.merging(["x-queue-type": "quorum"]) { own, _ in own }
    try await admin.declareQueue(name, arguments: all)
    let result: R
    do {
      result = try await body(name, admin)
    } catch {
      await remove(name)
      throw error
    }
    await remove(name)
    try? await admin.close()
    return result
  }

  /// On a connection of its own: the test may have cost the other one.
  private static func remove(_ queue: String) async {
    do {
      let admin = try await AdminConnection.open(endpoint: endpoint(), options: options("cleanup"))
      try await admin.deleteQueue(queue)
      try await admin.close()
    } catch {
      Issue.record("queue \(queue) could not be deleted: \(error)")
    }
  }
}

final class EventLog: Sendable {
  private let events = Mutex<[ConnectionEvent]>([])

  var all: [ConnectionEvent] { events.withLock { $0 } }
  func add(_ event: ConnectionEvent) { events.withLock { $0.append(event) } }
  func contains(_ isWanted: (ConnectionEvent) -> Bool) -> Bool { all.contains(where: isWanted) }

  var lastError: AMQPError? {
    for case .disconnected(let error, _, _) in all.reversed() { return error }
    return nil
  }
}

func processorTime() -> Duration {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}

extension Message {
  init(id: String, _ text: String = "{}") {
    self.init(messageID: id, body: Array(text.utf8))
    contentType = "application/json"
  }

  var text: String { String(decoding: body, as: UTF8.self) }
}
