import CountersignEncoding
import FoundationEssentials
import TestSupport
import Testing

@testable import CommandLine

@Suite struct UserRightsTests {
  /// Whether a user may do something with a resource, by the rule of RabbitMQ: the expression is searched in the name.
  func may(_ user: String, _ right: KeyPath<UserDeclaration, String>, _ name: String) throws -> Bool {
    let declaration = try #require(UserDeclaration.countersign.first { $0.name == user })
    return try name.firstMatch(of: Regex(declaration[keyPath: right])) != nil
  }

  func topic(
    _ user: String, _ exchange: String, _ right: KeyPath<UserDeclaration.TopicRight, String>, _ key: String
  ) throws -> Bool {
    let declaration = try #require(UserDeclaration.countersign.first { $0.name == user })
    let topic = try #require(declaration.topics.first { $0.exchange == exchange })
    return try key.firstMatch(of: Regex(topic[keyPath: right])) != nil
  }

  @Test func `Every user is declared once`() {
    #expect(
      UserDeclaration.countersign.map(\.name) == [
        "accounts", "coordinator", "gateway", "mail-worker", "operator", "push-worker", "revocation-worker", "sender",
        "service", "sms-worker", "webhook-worker",
      ])
  }

  @Test(
    arguments: [
      ("coordinator", "coordinator.commands", "sms.dispatch"),
      ("coordinator", "coordinator.commands.lock", "coordinator.commands.dead"),
      ("sms-worker", "sms.bulk", "coordinator.commands.lock"), ("sms-worker", "sms.dispatch", "coordinator.commands"),
      ("sms-worker", "sms.dispatch", "sms.dispatch.dead"), ("sms-worker", "sms.dispatch", "xsms.dispatch"),
      ("sms-worker", "sms.dispatch", "push.verify"), ("push-worker", "push.verify", "sms.dispatch"),
      ("push-worker", "recaptcha.assess", "recaptcha.assess.dead"), ("mail-worker", "mail.relay", "sms.dispatch"),
      ("revocation-worker", "apple.revoke", "sms.dispatch"), ("sms-worker", "sms.dispatch", "apple.revoke"),
      ("service", "countersign.events", "sms.dispatch"), ("service", "amq.gen-abc", "coordinator.commands"),
      ("service", "countersign.reply.service.a", "countersign.reply.sender.a"),
      ("service", "countersign.events", "countersign.results"), ("sender", "countersign.results", "countersign.jobs"),
      ("sender", "countersign.reply.sender.a", "countersign.reply.service.a"),
      ("service", "countersign.events.service", "countersign.events.sender"),
      ("sender", "countersign.events.sender", "countersign.events.service"),
      ("gateway", "countersign.reply.gateway.a", "countersign.events.gateway"),
      ("gateway", "countersign.reply.gateway.a", "countersign.reply.service.a"),
      ("gateway", "countersign.events", "countersign.results"),
      ("accounts", "accounts.commands", "coordinator.commands"),
      ("accounts", "accounts.commands.lock", "coordinator.commands.lock"),
      ("coordinator", "coordinator.commands", "accounts.commands.lock"), ("gateway", "amq.gen-a", "accounts.commands"),
      ("accounts", "accounts.replies", "countersign.events"), ("accounts", "accounts.replies", "amq.gen-abc"),
      ("webhook-worker", "webhook.events", "countersign.results"),
      ("webhook-worker", "countersign.events", "accounts.replies"),
      ("webhook-worker", "webhook.commands", "amq.gen-a"),
      ("webhook-worker", "webhook.commands.lock", "webhook.commands.dead"),
      ("accounts", "accounts.commands", "webhook.commands"), ("operator", "sms.dispatch.dead", "somebody.else"),
    ])
  func `Reads its own only`(user: String, allowed: String, refused: String) throws {
    #expect(try may(user, \.read, allowed))
    #expect(try !may(user, \.read, refused))
  }

  @Test(
    arguments: [
      ("coordinator", "countersign.jobs", "countersign.results"),
      ("coordinator", "amq.default", "countersign.commands"),
      ("sms-worker", "countersign.results", "countersign.jobs"),
      ("sms-worker", "countersign.retry.sms.dispatch", "countersign.retry.push.verify"),
      ("sms-worker", "countersign.retry.sms.bulk", "countersign.delayed"),
      ("mail-worker", "countersign.retry.mail.relay", "countersign.retry.sms.dispatch"),
      ("coordinator", "countersign.dead", "countersign.retry.sms.dispatch"),
      ("accounts", "countersign.dead", "countersign.retry.mail.relay"),
      ("revocation-worker", "countersign.jobs", "countersign.commands"),
      ("revocation-worker", "countersign.results", "countersign.events"),
      ("service", "countersign.commands", "amq.default"), ("service", "countersign.commands", "countersign.jobs"),
      ("sender", "countersign.jobs", "countersign.results"), ("sender", "countersign.commands", "amq.default"),
      ("gateway", "countersign.commands", "countersign.jobs"), ("gateway", "amq.gen-abc", "countersign.events"),
      ("accounts", "countersign.commands", "countersign.results"), ("accounts", "amq.default", "accounts.commands"),
      ("webhook-worker", "amq.default", "countersign.events"), ("webhook-worker", "webhook.events", "webhook.commands"),
      ("webhook-worker", "countersign.dead", "countersign.commands"), ("operator", "amq.default", "amq.topic"),
    ])
  func `Writes its own only`(user: String, allowed: String, refused: String) throws {
    #expect(try may(user, \.write, allowed))
    #expect(try !may(user, \.write, refused))
  }

  @Test(
    arguments: [
      ("sms-worker", "countersign.results", "sms.dispatch.accepted", "push.verify.accepted"),
      ("sms-worker", "countersign.results", "sms.bulk.accepted", "sms.bulk"),
      ("push-worker", "countersign.results", "push.verify.accepted", "sms.bulk.accepted"),
      ("push-worker", "countersign.results", "push.verify.refused", "sms.dispatch.refused"),
      ("push-worker", "countersign.results", "recaptcha.assess.accepted", "xrecaptcha.assess.accepted"),
      ("push-worker", "countersign.results", "push.verify.unknown", "push.verify"),
      ("coordinator", "countersign.events", "verification.approved", "account.deleted"),
      ("accounts", "countersign.events", "keys.published", "verification.approved"),
      ("accounts", "countersign.events", "account.deleted", "accountx.deleted"),
    ])
  func `Writes its own routing keys only`(user: String, exchange: String, allowed: String, refused: String) throws {
    #expect(try topic(user, exchange, \.write, allowed))
    #expect(try !topic(user, exchange, \.write, refused))
  }

  @Test(
    arguments: [
      ("gateway", "countersign.events", "keys.published", "#"),
      ("gateway", "countersign.events", "keys.published", "keys.*"),
      ("gateway", "countersign.events", "keys.published", "verification.approved"),
      ("sender", "countersign.results", "sms.delivery.*", "#"),
    ])
  func `Binds its own routing keys only`(user: String, exchange: String, allowed: String, refused: String) throws {
    #expect(try topic(user, exchange, \.read, allowed))
    #expect(try !topic(user, exchange, \.read, refused))
  }

  @Test func `Every event of the contract may be published by one of the two services`() throws {
    let root = URL(filePath: Repository.root)
    let data = try Data(contentsOf: root.appending(path: "Config/asyncapi.json"))
    guard case .object(let contract) = try JSONReader.commandLine.value(of: data),
      case .object(let channels)? = contract["channels"]
    else {
      Issue.record("no channels")
      return
    }
    let events = channels.keys.filter { $0.hasPrefix("event.") }.map { $0.dropFirst(6) }
    #expect(events.count > 10)
    for event in events {
      let writers = try ["accounts", "coordinator"].filter {
        try topic($0, "countersign.events", \.write, String(event))
      }
      let isOfAccounts = event.hasPrefix("account.") || event.hasPrefix("keys.")
      #expect(writers == [isOfAccounts ? "accounts" : "coordinator"], "\(event)")
    }
  }

  @Test(
    arguments: UserDeclaration.countersign.map(\.name).filter { $0 != "operator" })
  func `Only the operator configures the topology`(user: String) throws {
    for name in TopologyDeclaration.countersign.all(.queues).map(\.name) + ["countersign.jobs", "amq.default"] {
      #expect(try !may(user, \.configure, name))
    }
  }

  /// The most queues of the virtual host may be taken at any time.
  @Test(
    arguments: UserDeclaration.countersign.filter { $0.limits.isEmpty && $0.name != "operator" })
  func `No process of ours declares a queue`(user: UserDeclaration) {
    #expect(user.configure == NamePattern.nothing)
  }

  @Test func `The operator configures all of it`() throws {
    let topology = TopologyDeclaration.countersign
    for name in topology.all(.queues).map(\.name) + topology.all(.exchanges).map(\.name) {
      #expect(try may("operator", \.configure, name))
      #expect(try may("operator", \.write, name))
      #expect(try may("operator", \.read, name))
    }
  }

  @Test(arguments: ["service", "sender", "gateway"])
  func `Outside users have connection limits`(user: String) throws {
    #expect(
      try #require(UserDeclaration.countersign.first { $0.name == user }).limits == UserDeclaration.servicesLimits)
  }

  @Test func `A further service has queues of its own`() throws {
    let user = UserDeclaration.service("billing")
    #expect(try "countersign.reply.billing.a".firstMatch(of: Regex(user.read)) != nil)
    #expect(try "countersign.reply.service.a".firstMatch(of: Regex(user.read)) == nil)
    #expect(try "countersign.reply.billing2.a".firstMatch(of: Regex(user.read)) == nil)
    // It may bind and read its queue of events, not change or delete it.
    #expect(try "countersign.events.billing".firstMatch(of: Regex(user.read)) != nil)
    #expect(try "countersign.events.billing".firstMatch(of: Regex(user.write)) != nil)
    #expect(try "countersign.events.billing".firstMatch(of: Regex(user.configure)) == nil)
    #expect(try "countersign.events.billing2".firstMatch(of: Regex(user.read)) == nil)
  }
}
