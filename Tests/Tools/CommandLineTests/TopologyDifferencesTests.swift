import Testing

@testable import CommandLine

@Suite struct TopologyDifferencesTests {
  let declared = TopologyDeclaration.countersign

  @Test func `A broker that holds all of it has no differences`() {
    #expect(declared.differences(from: declared.asState) == [])
  }

  @Test func `An empty broker lacks everything and all of it can be applied`() {
    let differences = declared.differences(from: TopologyState())
    let count = declared.exchanges.count + declared.queues.count + declared.bindings.count + declared.policies.count
    #expect(differences.count == count)
    #expect(differences.allSatisfy { $0.isFixable })
  }

  @Test func `Policies come before queues and dead queues before work queues`() throws {
    let names = declared.differences(from: TopologyState()).map(\.description)
    let policy = try #require(names.firstIndex(of: "policy countersign.work.sms.dispatch is missing"))
    let dead = try #require(names.firstIndex(of: "queue sms.dispatch.dead is missing"))
    let work = try #require(names.firstIndex(of: "queue sms.dispatch is missing"))
    let binding = try #require(
      names.firstIndex(of: "queue sms.dispatch is not bound to countersign.jobs under \"sms.dispatch\""))
    #expect(policy < dead && dead < work && work < binding)
  }

  @Test func `A changed policy names the keys that differ`() throws {
    var state = declared.asState
    let index = try #require(state.policies.firstIndex { $0.name == "countersign.retry.sms.bulk.5s" })
    let policy = state.policies[index]
    state.policies[index] = TopologyState.Policy(
      name: policy.name, pattern: policy.pattern, priority: 0,
      definition: policy.definition.merging(["message-ttl": 7, "expires": 1]) { $1 }, applyTo: policy.applyTo)
    let differences = declared.differences(from: state)
    #expect(
      differences.map(\.description) == [
        "policy countersign.retry.sms.bulk.5s: priority is 0 instead of 10, expires is 1 instead of not set, "
          + "message-ttl is 7 instead of 5000"
      ])
    #expect(differences.allSatisfy { $0.isFixable })
  }

  @Test func `A classic queue is for a person to replace`() throws {
    var state = declared.asState
    let index = try #require(state.queues.firstIndex { $0.name == "sms.dispatch" })
    state.queues[index] = TopologyState.Queue(
      name: "sms.dispatch", durable: true, type: "classic", policy: nil, arguments: .init(keys: []))
    let differences = declared.differences(from: state)
    #expect(differences.map(\.description) == ["queue sms.dispatch is a classic queue instead of a quorum queue"])
    #expect(!differences.contains { $0.isFixable })
  }

  @Test func `Arguments that no policy can change are told`() throws {
    var state = declared.asState
    let index = try #require(state.queues.firstIndex { $0.name == "sms.dispatch" })
    state.queues[index] = TopologyState.Queue(
      name: "sms.dispatch", durable: true, type: "quorum", policy: nil,
      arguments: .init(keys: ["x-delivery-limit", "x-queue-type"]))
    #expect(
      declared.differences(from: state).map(\.description) == [
        "queue sms.dispatch was declared with arguments that no policy can change: x-delivery-limit"
      ])
  }

  @Test func `A stronger policy of somebody else is told`() throws {
    var state = declared.asState
    let index = try #require(state.queues.firstIndex { $0.name == "sms.dispatch" })
    state.queues[index] = TopologyState.Queue(
      name: "sms.dispatch", durable: true, type: "quorum", policy: "ha-all", arguments: .init(keys: ["x-queue-type"]))
    #expect(
      declared.differences(from: state).map(\.description) == [
        "queue sms.dispatch is under the policy ha-all instead of its own"
      ])
  }

  @Test func `A binding that nobody declared is told`() {
    var state = declared.asState
    state.bindings.append(
      .init(source: "amq.topic", destination: "sms.dispatch", destinationType: "queue", routingKey: "#"))
    #expect(
      declared.differences(from: state).map(\.description) == [
        "queue sms.dispatch is also bound to amq.topic under \"#\""
      ])
  }

  @Test func `A binding that is not declared is left to a person`() {
    var state = declared.asState
    state.bindings.append(
      .init(
        source: "countersign.results", destination: "coordinator.results", destinationType: "queue",
        routingKey: "sms.bulk.*", propertiesKey: "sms.bulk.%2A"))
    #expect(declared.differences(from: state).map(\.isFixable) == [false])
  }

  @Test func `A queue of a service that refuses is told`() {
    var state = declared.asState
    for (name, overflow) in [("amq.gen-a", "reject-publish"), ("amq.gen-b", "drop-head"), ("theirs", "reject-publish")]
    {
      state.queues.append(
        .init(
          name: name, durable: true, type: "classic", policy: nil,
          arguments: .init(keys: ["x-overflow"], overflow: overflow)))
      state.bindings.append(
        .init(
          source: name == "theirs" ? "amq.topic" : "countersign.events", destination: name, destinationType: "queue",
          routingKey: "#"))
    }
    #expect(
      declared.differences(from: state).map(\.description) == [
        "queue amq.gen-a refuses messages when it is full, which makes the broker refuse their publishers"
      ])
  }

  @Test func `An exchange of another type is for a person to replace`()
    throws
  {
    var state = declared.asState
    let index = try #require(state.exchanges.firstIndex { $0.name == "countersign.jobs" })
    state.exchanges[index] = .init(name: "countersign.jobs", type: "topic", durable: true)
    let differences = declared.differences(from: state)
    #expect(differences.map(\.description) == ["exchange countersign.jobs is topic instead of durable direct"])
    #expect(!differences.contains { $0.isFixable })
  }
}

extension TopologyDeclaration {
  /// The state of a broker that holds exactly this.
  var asState: TopologyState {
    TopologyState(
      exchanges: exchanges.map { .init(name: $0.name, type: $0.kind.rawValue, durable: true) },
      queues: queues.map {
        .init(
          name: $0.name, durable: true, type: $0.kind.rawValue, policy: "", arguments: .init(keys: ["x-queue-type"]))
      },
      bindings: bindings.map {
        .init(source: $0.exchange, destination: $0.queue, destinationType: "queue", routingKey: $0.routingKey)
      },
      policies: policies.map {
        .init(
          name: $0.name, pattern: $0.pattern, priority: $0.priority, definition: $0.definition,
          applyTo: $0.target.rawValue)
      })
  }
}
