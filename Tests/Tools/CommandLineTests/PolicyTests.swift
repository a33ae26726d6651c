import CountersignEncoding
import CountersignMessages
import Testing

@testable import CommandLine

@Suite struct PolicyTests {
  let topology = TopologyDeclaration.countersign

  /// The policy that a queue gets: the highest that matches.
  func policy(of queue: String) throws -> BrokerObject {
    let matching = try PolicyDeclaration.countersign.filter { try queue.firstMatch(of: Regex($0["pattern"])) != nil }
    return try #require(matching.max { priority($0) < priority($1) }, "\(queue) has no policy")
  }

  func priority(_ policy: BrokerObject) -> Int { policy.members["priority"]?.wholeNumber ?? 0 }

  @Test func `Every queue is bounded in messages and bytes`() throws {
    for queue in topology.all(.queues) where !Topology.Queues.locks.contains(queue.name) {
      let definition = try policy(of: queue.name).definition
      #expect(definition["max-length"] != nil && definition["max-length-bytes"] != nil, "\(queue.name)")
      let drops = queue.name == Topology.Queues.webhookEvents
      #expect(definition["overflow"] == (drops ? "drop-head" : "reject-publish"), "\(queue.name)")
    }
  }

  @Test func `Events for webhooks stand in nobody's way, and keep their order`() throws {
    let definition = try policy(of: Topology.Queues.webhookEvents).definition
    // With an exchange for dead letters, what is dropped would fill their queue.
    #expect(definition["dead-letter-exchange"] == nil)
    let queue = try #require(topology.all(.queues).first { $0.name == Topology.Queues.webhookEvents })
    #expect(queue.arguments["x-single-active-consumer"] == true)
  }

  @Test(arguments: Topology.Queues.locks)
  func `A lock holds nothing and stays`(lock: String) throws {
    #expect(topology.contains(.queue(lock, "classic")))
    #expect(!topology.all(.bindings).contains { $0["destination"] == lock })
    let definition = try policy(of: lock).definition
    // A service that stands still for days finds it again.
    #expect(definition["expires"] == nil)
    #expect(definition["max-length"] == 1 && definition["overflow"] == "drop-head")
  }

  /// A name for each alternative of a pattern: the quoting undone, a letter in the place of what may vary.
  static func names(of pattern: String) -> [String] {
    pattern.trimmingPrefix("^").drop { $0 == "(" }.split(separator: "|").map {
      String($0).replacing(")$", with: "").replacing("$", with: "").replacing(".*", with: "x").replacing("\\", with: "")
    }
  }

  @Test(
    arguments: UserDeclaration.countersign + [.service("billing"), .sender("crm")])
  func `Whatever a user may declare is bounded`(user: UserDeclaration) throws {
    guard user.configure != NamePattern.nothing, user.name != Topology.Users.operator else { return }
    for name in Self.names(of: user.configure) {
      let definition = try policy(of: name).definition
      #expect(definition["expires"] == 600_000, "\(name)")
      #expect(definition["max-length"] != nil && definition["max-length-bytes"] != nil, "\(name)")
      // Otherwise a full queue of a service would have the broker refuse the coordinator.
      #expect(definition["overflow"] == "drop-head", "\(name)")
    }
  }

  @Test func `Names are made of patterns`() {
    #expect(Self.names(of: UserDeclaration.service("a").configure) == ["amq.gen-x", "countersign.reply.a.x"])
  }

  /// README says how much disk the broker needs.
  @Test func `All queues at their bounds fit on the disk that is asked for`() {
    // The locks hold nothing.
    let delays = Int64(TopologyDeclaration.delayQueues.count)
    let others = Int64(topology.all(.queues).count - Topology.Queues.locks.count) - delays
    let own = others * PolicyDeclaration.bytesLimit + delays * PolicyDeclaration.delayedBytesLimit
    let services = Int64(VirtualHostLimits.maxQueues - topology.all(.queues).count) * PolicyDeclaration.servicesBytes
    #expect(own + services <= 50 << 30)
  }

  @Test func `Streams of services have a policy that they understand`()
    throws
  {
    let streams = try #require(topology.all(.policies).first { $0.name == "countersign.services.streams" })
    #expect(Set(streams.definition.keys) == ["max-length-bytes", "stream-max-segment-size-bytes"])
    #expect(priority(streams) < PolicyDeclaration.priority)
  }
}
