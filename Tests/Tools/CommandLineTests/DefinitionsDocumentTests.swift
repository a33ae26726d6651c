import CountersignEncoding
import CountersignMessages
import FoundationEssentials
import TestSupport
import Testing

@testable import CommandLine

@Suite struct DefinitionsDocumentTests {
  @Test func `The committed file is what the code declares`() throws {
    let file = URL(filePath: Repository.root).appending(path: "Config/rabbitmq/definitions.json")
    let committed = try String(contentsOf: file, encoding: .utf8)
    let declared = DefinitionsDocument.contents.json(indented: true) + "\n"
    #expect(committed == declared, "run: countersign topology export > Config/rabbitmq/definitions.json")
  }

  @Test func `The broker takes twice the largest body`() throws {
    let file = URL(filePath: Repository.root).appending(path: "Config/rabbitmq/countersign.conf")
    let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
    #expect(lines.contains("max_message_size = \(2 * MessageLimits.maxBodyBytes)"))
  }

  @Test func `No password is in it`() throws {
    let text = DefinitionsDocument.contents.json(indented: true)
    for line in text.split(separator: "\n") where line.contains("\"password_hash\"") {
      #expect(line.contains("\"password_hash\": \"\""))
    }
  }

  @Test(arguments: Topology.Queues.jobs)
  func `Each delay of a work queue goes back to that queue and nowhere else`(queue: String) throws {
    let policies = try RetryStep.allCases.map { step in
      let name = Topology.Queues.retry(queue, step)
      // One policy only: the broker merges none.
      let matching = try PolicyDeclaration.countersign.filter { try name.firstMatch(of: Regex($0["pattern"])) != nil }
      try #require(matching.count == 1, "\(name)")
      return matching[0]
    }
    for policy in policies {
      #expect(policy["apply-to"] == "queues")
      #expect(policy.definition["dead-letter-exchange"] == "countersign.delayed")
      #expect(policy.definition["dead-letter-routing-key"] == .text(queue))
      #expect(policy.definition["dead-letter-strategy"] == "at-least-once")
      #expect(policy.definition["overflow"] == "reject-publish")
    }
    #expect(policies.map { $0.definition["message-ttl"] } == [5000, 30_000, 120_000, 600_000, 3_600_000])
  }

  @Test(arguments: (Topology.Queues.work + Topology.Queues.services).filter { $0 != Topology.Queues.webhookEvents })
  func `Every work queue dead letters under its own name`(queue: String) throws {
    let policy = try #require(PolicyDeclaration.countersign.first { $0["pattern"] == NamePattern.names([queue]) })
    #expect(policy.definition["dead-letter-routing-key"] == .text(queue))
    #expect(
      TopologyDeclaration.countersign.contains(.binding(of: "\(queue).dead", to: "countersign.dead", under: queue)))
  }
}
