import CountersignEncoding
import Testing

@testable import CommandLine

@Suite struct TopologyDifferencesTests {
  let declared = TopologyDeclaration.countersign

  func differences(from found: [BrokerObject]) -> [TopologyDifference] {
    TopologyDifferences(found: found).differences()
  }

  func state(_ kind: BrokerObject.Kind, _ name: String, with changes: [String: JSONValue]) throws -> [BrokerObject] {
    var state = declared
    let index = try #require(state.firstIndex { $0.kind == kind && $0.name == name })
    var row = state[index].members
    if kind == .queues { row["type"] = state[index].arguments["x-queue-type"] }
    state[index] = BrokerObject(kind, told: row.merging(changes) { $1 })
    return state
  }

  @Test func `A broker that holds all of it has no differences`() {
    #expect(differences(from: declared) == [])
  }

  @Test func `The binding of a webhook-worker is its own`() {
    let bound = BrokerObject.binding(of: "webhook.events", to: "countersign.events", under: "#")
    #expect(differences(from: declared + [bound]) == [])
    let other = BrokerObject.binding(of: "webhook.events", to: "countersign.results", under: "#")
    #expect(differences(from: declared + [other]).count == 1)
  }

  @Test func `An empty broker lacks everything and all of it can be applied`() {
    let differences = differences(from: [])
    #expect(differences.count == declared.count)
    #expect(differences.allSatisfy { $0.isFixable })
  }

  @Test func `Policies come before queues and dead queues before work queues`() throws {
    let names = differences(from: []).map(\.description)
    let policy = try #require(names.firstIndex(of: "policy countersign.work.sms.dispatch is missing"))
    let dead = try #require(names.firstIndex(of: "queue sms.dispatch.dead is missing"))
    let work = try #require(names.firstIndex(of: "queue sms.dispatch is missing"))
    let binding = try #require(
      names.firstIndex(of: "queue sms.dispatch is not bound to countersign.jobs under \"sms.dispatch\""))
    #expect(policy < dead && dead < work && work < binding)
  }

  @Test func `A changed policy names the keys that differ`() throws {
    let name = "countersign.retry.sms.bulk.5s"
    let definition = try #require(declared.first { $0.name == name }).definition
    let changed: [String: JSONValue] = ["message-ttl": 7, "expires": 1, "max-length": [1]]
    let differences = differences(
      from: try state(
        .policies, name, with: ["priority": 0, "definition": .object(definition.merging(changed) { $1 })]))
    #expect(
      differences.map(\.description) == [
        "policy \(name): expires is 1 instead of not set, max-length is [1] instead of 500000, "
          + "message-ttl is 7 instead of 5000, priority is 0 instead of 10"
      ])
    #expect(differences.allSatisfy { $0.isFixable })
  }

  @Test func `A policy for quorum queues only is good enough`() throws {
    let state = try state(.policies, "countersign.dead", with: ["apply-to": "quorum_queues"])
    #expect(differences(from: state) == [])
  }

  @Test(
    arguments: [
      (["type": "classic", "arguments": []], "x-queue-type is classic instead of quorum"),
      (["arguments": ["x-delivery-limit": 5]], "x-delivery-limit is 5 instead of not set"),
      (["durable": false], "durable is false instead of true"),
    ] as [([String: JSONValue], String)])
  func `A queue of another kind is for a person to replace`(changes: [String: JSONValue], text: String) throws {
    let differences = differences(from: try state(.queues, "sms.dispatch", with: changes))
    #expect(differences.map(\.description) == ["queue sms.dispatch: \(text)"])
    #expect(!differences.contains { $0.isFixable })
  }

  @Test func `A stronger policy of somebody else is told`() throws {
    #expect(
      differences(from: try state(.queues, "sms.dispatch", with: ["policy": "ha-all"])).map(\.description) == [
        "queue sms.dispatch is under the policy ha-all instead of its own"
      ])
  }

  @Test(arguments: [("amq.topic", "sms.dispatch", "#"), ("countersign.results", "coordinator.results", "sms.bulk.*")])
  func `A binding that nobody declared is told and left to a person`(exchange: String, queue: String, key: String) {
    let differences = differences(from: declared + [.binding(of: queue, to: exchange, under: key)])
    #expect(differences.map(\.description) == ["queue \(queue) is also bound to \(exchange) under \"\(key)\""])
    #expect(!differences.contains { $0.isFixable })
  }

  @Test func `A queue of a service that refuses is told`() {
    var state = declared
    for (name, overflow) in [("amq.gen-a", "reject-publish"), ("amq.gen-b", "drop-head"), ("theirs", "reject-publish")]
    {
      state.append(
        BrokerObject(kind: .queues, members: ["name": .text(name), "arguments": ["x-overflow": .text(overflow)]]))
      state.append(.binding(of: name, to: name == "theirs" ? "amq.topic" : "countersign.events", under: "#"))
    }
    #expect(
      differences(from: state).map(\.description) == [
        "queue amq.gen-a refuses messages when it is full, which makes the broker refuse their publishers"
      ])
  }

  @Test func `An exchange of another type is for a person to replace`() throws {
    let differences = differences(from: try state(.exchanges, "countersign.jobs", with: ["type": "topic"]))
    #expect(differences.map(\.description) == ["exchange countersign.jobs: type is topic instead of direct"])
    #expect(!differences.contains { $0.isFixable })
  }
}
