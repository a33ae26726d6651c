import FoundationEssentials
import Messages
import Testing

@testable import Operations

@Suite struct DefinitionsDocumentTests {
  @Test func theCommittedFileIsWhatTheCodeDeclares() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "Config/rabbitmq/definitions.json")
    let committed = try String(contentsOf: file, encoding: .utf8)
    let declared = String(decoding: try DefinitionsDocument().json(), as: UTF8.self)
    #expect(committed == declared, "run: countersign topology export > Config/rabbitmq/definitions.json")
  }

  @Test func noPasswordIsInIt() throws {
    let text = String(decoding: try DefinitionsDocument().json(), as: UTF8.self)
    for line in text.split(separator: "\n") where line.contains("\"password_hash\"") {
      #expect(line.contains("\"password_hash\" : \"\""))
    }
  }

  @Test func everyRetryStepGoesBackToTheJobsUnderItsOwnKey() throws {
    let steps = TopologyDeclaration.countersign.policies.filter { $0.name.hasPrefix("countersign.retry.") }
    #expect(steps.count == 5)
    for step in steps {
      #expect(step.definition["dead-letter-exchange"] == "countersign.jobs")
      #expect(step.definition["dead-letter-routing-key"] == nil)
      #expect(step.definition["overflow"] == "reject-publish")
    }
    #expect(steps.map { $0.definition["message-ttl"] } == [5000, 30_000, 120_000, 600_000, 3_600_000])
  }

  @Test(arguments: Topology.Queues.work)
  func everyWorkQueueDeadLettersUnderItsOwnName(queue: String) throws {
    let topology = TopologyDeclaration.countersign
    let policy = try #require(topology.policies.first { $0.pattern == NamePattern.names([queue]) })
    #expect(policy.definition["dead-letter-routing-key"] == .text(queue))
    #expect(
      topology.bindings.contains(
        BindingDeclaration(exchange: "countersign.dead", queue: "\(queue).dead", routingKey: queue)))
  }
}

@Suite struct UserRightsTests {
  /// Whether a user may do something with a resource, by the rule of RabbitMQ: the expression is searched in the name.
  func may(_ user: String, _ right: KeyPath<UserDeclaration, String>, _ name: String) throws -> Bool {
    let declaration = try #require(UserDeclaration.countersign.first { $0.name == user })
    return try name.firstMatch(of: Regex(declaration[keyPath: right])) != nil
  }

  @Test(arguments: [
    ("coordinator", "coordinator.commands", "sms.dispatch"), ("sms-worker", "sms.dispatch", "coordinator.commands"),
    ("sms-worker", "sms.dispatch", "sms.dispatch.dead"), ("sms-worker", "sms.dispatch", "xsms.dispatch"),
    ("sms-worker", "sms.dispatch", "push.verify"), ("push-worker", "push.verify", "sms.dispatch"),
    ("push-worker", "recaptcha.assess", "recaptcha.assess.dead"), ("mail-worker", "mail.relay", "sms.dispatch"),
    ("revocation-worker", "apple.revoke", "sms.dispatch"), ("sms-worker", "sms.dispatch", "apple.revoke"),
    ("service", "countersign.events", "sms.dispatch"), ("service", "amq.gen-abc", "coordinator.commands"),
    ("operator", "sms.dispatch.dead", "somebody.else"),
  ])
  func readsItsOwnOnly(user: String, allowed: String, refused: String) throws {
    #expect(try may(user, \.read, allowed))
    #expect(try !may(user, \.read, refused))
  }

  @Test(arguments: [
    ("coordinator", "countersign.jobs", "countersign.results"), ("coordinator", "amq.default", "countersign.commands"),
    ("sms-worker", "countersign.results", "countersign.jobs"),
    ("sms-worker", "countersign.retry.10m", "countersign.events"),
    ("revocation-worker", "countersign.jobs", "countersign.commands"),
    ("revocation-worker", "countersign.results", "countersign.events"),
    ("service", "countersign.commands", "amq.default"), ("service", "countersign.jobs", "countersign.results"),
    ("operator", "amq.default", "amq.topic"),
  ])
  func writesItsOwnOnly(user: String, allowed: String, refused: String) throws {
    #expect(try may(user, \.write, allowed))
    #expect(try !may(user, \.write, refused))
  }

  @Test(arguments: [
    ("sms-worker", "sms.dispatch.accepted", "push.verify.accepted"),
    ("push-worker", "push.verify.refused", "sms.dispatch.refused"),
    ("push-worker", "recaptcha.assess.accepted", "xrecaptcha.assess.accepted"),
    ("push-worker", "push.verify.unknown", "push.verify"),
  ])
  func reportsOfItsOwnJobsOnly(user: String, allowed: String, refused: String) throws {
    let declaration = try #require(UserDeclaration.countersign.first { $0.name == user })
    let right = try #require(declaration.topics.first { $0.exchange == "countersign.results" })
    #expect(try allowed.firstMatch(of: Regex(right.write)) != nil)
    #expect(try refused.firstMatch(of: Regex(right.write)) == nil)
  }

  @Test(arguments: UserDeclaration.countersign.map(\.name).filter { $0 != "operator" })
  func onlyTheOperatorConfiguresTheTopology(user: String) throws {
    for name in TopologyDeclaration.countersign.queues.map(\.name) + ["countersign.jobs", "amq.default"] {
      #expect(try !may(user, \.configure, name))
    }
  }

  @Test func theOperatorConfiguresAllOfIt() throws {
    let topology = TopologyDeclaration.countersign
    for name in topology.queues.map(\.name) + topology.exchanges.map(\.name) {
      #expect(try may("operator", \.configure, name))
      #expect(try may("operator", \.write, name))
      #expect(try may("operator", \.read, name))
    }
  }
}
