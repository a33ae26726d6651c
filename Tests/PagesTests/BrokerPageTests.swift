import CountersignEncoding
import CountersignMessages
import Testing

@testable import CommandLine
@testable import CountersignAMQP
@testable import JobEngine

@Suite struct BrokerPageTests {
  private let page: Page
  private let topology = TopologyDeclaration.countersign

  init() throws {
    page = try Page("docs/broker.md")
  }

  @Test func `Its exchanges are those that are declared`() throws {
    let told = try page.table("| exchange | type | writers | routing key |").map { row in
      "\(try #require(Page.code(in: row[0]).first)) \(row[1])"
    }
    let declared = topology.all(.exchanges).map { exchange in
      let name = exchange.name.hasPrefix("countersign.retry.") ? "countersign.retry.<queue>" : exchange.name
      return "\(name) \(exchange["type"])"
    }
    #expect(Set(told) == Set(declared))
  }

  @Test func `Writers of each exchange are the users with the right to`() throws {
    let groups = [
      "services": ["service", "sender"],
      "workers": ["sms-worker", "push-worker", "mail-worker", "revocation-worker"],
      // It moves messages itself.
      "broker": [],
      // Asked for one queue.
      "the queue's worker": ["mail-worker"],
    ]
    for row in try page.table("| exchange | type | writers | routing key |") {
      let words = row[2].split(separator: ",").map { String($0).trimming { " `".contains($0) } }
      let told = Set(words.flatMap { groups[$0] ?? [$0] }).union(["operator"])
      let exchange = try #require(Page.code(in: row[0]).first).replacing("<queue>", with: "mail.relay")
      #expect(topology.all(.exchanges).contains { $0.name == exchange }, "\(exchange)")
      let writers = try UserDeclaration.countersign.filter { user in
        try exchange.firstMatch(of: Regex(user.write)) != nil
      }
      #expect(told == Set(writers.map(\.name)), "\(exchange)")
    }
  }

  @Test func `Its queues are those that are declared`() throws {
    let told = try page.table("| queue | bound to | consumer |").flatMap { row in
      let names = Page.code(in: row[0])
      // The further ones of a row may leave out the part that all have.
      let family = names[0].prefix { $0 != "." }
      return names.map { $0.hasPrefix(".") ? family + $0 : $0 }
    }
    let dead = Set(TopologyDeclaration.deadQueues)
    let declared = topology.all(.queues).map(\.name).filter { !dead.contains($0) }.map {
      $0.hasPrefix("countersign.retry.") ? "countersign.retry.<queue>.<delay>" : $0
    }
    #expect(Set(told) == Set(declared).union(["<queue>.dead"]))
  }

  @Test func `The disk that all queues take at their bounds is that of the policies`() throws {
    var bytes: Int64 = 0
    for queue in topology.all(.queues) {
      let policies = try PolicyDeclaration.countersign.filter {
        try queue.name.firstMatch(of: Regex($0["pattern"])) != nil
      }
      let policy = try #require(
        policies.max { ($0.members["priority"]?.wholeNumber ?? 0) < ($1.members["priority"]?.wholeNumber ?? 0) },
        "\(queue.name) has no policy")
      guard case .integer(let bound) = policy.definition["max-length-bytes"] else {
        Issue.record("\(queue.name) is not bounded")
        continue
      }
      bytes += bound
    }
    bytes += Int64(VirtualHostLimits.maxQueues - topology.all(.queues).count) * PolicyDeclaration.servicesBytes
    let gibibytes = (bytes + (1 << 30) - 1) >> 30
    page.expect("\(gibibytes) GiB")
    try Page("docs/operations.md").expect("\(gibibytes) GiB")
  }

  @Test func `Bounds of queues and users are those of policies and declarations`() throws {
    let limits = UserDeclaration.servicesLimits
    let connections = try #require(limits["max-connections"])
    let channels = try #require(limits["max-channels"])
    #expect(PolicyDeclaration.delayedLengthLimit * 4 == PolicyDeclaration.lengthLimit)
    #expect(PolicyDeclaration.delayedBytesLimit * 4 == PolicyDeclaration.bytesLimit)
    page.expect(
      "\(grouped(PolicyDeclaration.lengthLimit)) messages", "\(PolicyDeclaration.bytesLimit >> 30) GiB",
      "\(PolicyDeclaration.deadLetterAge.hours / 24) days", grouped(PolicyDeclaration.deliveryLimit),
      "\(grouped(connections)) connections", "\(grouped(channels)) channels",
      "\(grouped(VirtualHostLimits.maxQueues)) queues",
      "\(2 * MessageLimits.maxBodyBytes >> 10) KiB")
    // Arguments cannot be changed later, so the type is the only one; all but the locks are quorum queues.
    #expect(
      topology.all(.queues).filter { $0.arguments["x-queue-type"] != "quorum" }.map(\.name) == Topology.Queues.locks)
  }

  @Test func `Waits of publishes and acknowledgements are those of the code`() {
    let (results, settled) = (Gathering.workerResults, Gathering.workerAcknowledgements)
    page.expect(
      "\(Gathering.publishes.interval.milliseconds) ms", "\(results.interval.milliseconds) ms or \(results.count)",
      "\(settled.interval.milliseconds) ms", "\(settled.count) jobs")
  }

  @Test func `Only the reply codes that it names may be due to a publication`() {
    page.expect("501 to 505, 540, 541")
    #expect((300...599).filter { ReplyCodes.mayBeDueToPublication($0) } == [501, 502, 503, 504, 505, 540, 541])
  }
}
