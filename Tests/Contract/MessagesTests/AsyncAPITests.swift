import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import FoundationEssentials
import TestSupport
import Testing

/// Holds the code to `Config/asyncapi.json`, and the document to the code.
@Suite struct AsyncAPITests {
  private let document: JSONValue
  private let checker: SchemaChecker

  init() throws {
    let root = URL(filePath: Repository.root)
    document = try JSONValue(parsing: Data(contentsOf: root.appending(path: "Config/asyncapi.json")))
    checker = SchemaChecker(schemas: document["components"]?["schemas"]?.object ?? [:])
  }

  private var messages: [String: JSONValue] { document["components"]?["messages"]?.object ?? [:] }

  private func schema(of type: MessageType, among candidates: some Collection<JSONValue>) throws -> JSONValue {
    try #require(
      candidates.first { $0["name"]?.text == type.text }?["payload"], "\(type) is not in the document")
  }

  private func messages(of channel: JSONValue) -> [JSONValue] {
    (channel["messages"]?.object ?? [:]).keys.compactMap { messages[$0] }
  }

  @Test func `Every body of the code is as described`() throws {
    // A reply and an event may have the same type, so the samples are looked up where they travel.
    let groups: [([Sample], (String) -> Bool)] = [
      (try Sample.commands(), { $0.hasPrefix("command.") }), (try Sample.replies(), { $0 == "replies" }),
      (try Sample.events(), { $0.hasPrefix("event.") }),
      (try Sample.jobs(), { $0.hasPrefix("job.") || $0.hasPrefix("result.") }),
    ]
    for (samples, isTheirs) in groups {
      let candidates = (document["channels"]?.object ?? [:]).filter { isTheirs($0.key) }.values.flatMap(messages(of:))
      for sample in samples {
        let schema = try schema(of: sample.type, among: candidates)
        var properties: Set<String> = []
        for body in sample.bodies {
          let value = try JSONValue(parsing: body)
          #expect(checker.problems(value, schema) == [], "\(sample.type)")
          properties.formUnion(value.properties())
        }
        let undescribed = checker.properties(schema).subtracting(properties)
        #expect(undescribed.isEmpty, "\(sample.type) has no such fields in the code")
        try requiredFieldsAreThoseOfTheCode(sample, schema)
      }
    }
  }

  private func requiredFieldsAreThoseOfTheCode(_ sample: Sample, _ schema: JSONValue) throws {
    let least = try JSONValue(parsing: try #require(sample.bodies.last))
    let required = Set(checker.resolved(schema)["required"]?.strings ?? [])
    let choices = (checker.resolved(schema)["oneOf"]?.array ?? []).flatMap { $0["required"]?.strings ?? [] }
    #expect(Set(least.object.keys).subtracting(choices) == required, "\(sample.type)")
  }

  @Test func `Sealed texts are as described`() throws {
    for (name, least, full) in try Sample.sealedTexts() {
      let schema = try #require(checker.schemas[name])
      let value = try json(full)
      #expect(checker.problems(value, schema) == [], "\(name)")
      #expect(checker.properties(schema) == value.properties(), "\(name)")
      #expect(Set(try json(least).object.keys) == Set(schema["required"]?.strings ?? []), "\(name)")
      #expect(try json(type(of: full).init(text: full.text())) == value, "\(name)")
      #expect("\(full) \(String(reflecting: full))" == "\(Redaction.placeholder) \(Redaction.placeholder)")
    }
  }

  private func json(_ sealed: any SealedText) throws -> JSONValue {
    try JSONValue(parsing: sealed.text().reveal())
  }

  @Test func `Every message of the document is in the code`() throws {
    let types = Set(try Sample.all().map(\.type.text))
    #expect(Set(messages.values.compactMap { $0["name"]?.text }) == types)
  }

  @Test func `No reply has the type of a command`() throws {
    let types = Set(try Sample.commands().map(\.type.text))
    #expect(types.isDisjoint(with: try Sample.replies().map(\.type.text)))
    func names(_ isTheirs: (String) -> Bool) -> [String] {
      (document["channels"]?.object ?? [:]).filter { isTheirs($0.key) }.values.flatMap(messages(of:))
        .compactMap { $0["name"]?.text }
    }
    #expect(Set(names { $0.hasPrefix("command.") }) == types)
    #expect(types.isDisjoint(with: names { $0 == "replies" }))
  }

  @Test func `The channels are the topology`() throws {
    var expected: Set<String> = []
    for key in Topology.commands + Topology.accountsCommands + Topology.webhookCommands {
      expected.insert("\(Topology.Exchanges.commands) direct \(key)")
    }
    for job in Topology.Queues.jobs {
      expected.insert("\(Topology.Exchanges.jobs) direct \(job)")
    }
    for queue in Topology.Queues.jobs {
      for outcome in JobOutcome.allCases {
        expected.insert("\(Topology.Exchanges.results) topic \(JobResult.routingKey(queue: queue, outcome: outcome))")
      }
    }
    for queue in Topology.Queues.jobTypes {
      expected.insert("\(Topology.Exchanges.results) topic \(JobDelayed.routingKey(queue: queue))")
    }
    for state in SMSDeliveryReport.State.allCases {
      let key = SMSDeliveryReport(state: state, lane: "l", at: UnixTime(seconds: 0)).routingKey
      expected.insert("\(Topology.Exchanges.results) topic \(key)")
    }
    for key in Topology.events {
      expected.insert("\(Topology.Exchanges.events) topic \(key)")
    }
    let described = (document["channels"]?.object ?? [:]).filter { $0.key != "replies" }.values.map { channel in
      let exchange = channel["bindings"]?["amqp"]?["exchange"]
      return [exchange?["name"], exchange?["type"], channel["address"]].map { $0?.text ?? "" }
        .joined(separator: " ")
    }
    #expect(Set(described) == expected)
    #expect(described.count == expected.count)
    let kinds = Dictionary(uniqueKeysWithValues: Topology.exchanges.map { ($0.name, $0.kind) })
    for line in expected {
      let parts = line.split(separator: " ").map(String.init)
      #expect(kinds[parts[0]] == parts[1])
    }
  }

  @Test(
    arguments: [
      ("OnUnknown", OnUnknown.allCases.map(\.rawValue)), ("JobOutcome", JobOutcome.allCases.map(\.rawValue)),
      ("AppleTokenKind", AppleToken.Kind.allCases.map(\.rawValue)),
      ("VerificationPurpose", VerificationPurpose.allCases.map(\.rawValue)),
      ("PushEnvironment", PushEnvironment.allCases.map(\.rawValue)),
      ("VerificationState", VerificationStatus.State.known.map(\.rawValue)),
      ("OperationState", OperationStatus.State.known.map(\.rawValue)),
      ("OperationKind", OperationKind.known.map(\.rawValue)),
      ("OperationEnding", OperationEnding.known.map(\.rawValue)),
      ("ConversionScope", ConversionScope.known.map(\.rawValue)),
      ("ProofMethod", AppVerified.Method.known.map(\.rawValue)),
      ("PhoneSignInOperation", SignInWithPhone.Operation.allCases.map(\.rawValue)),
      ("AppleErasure", AccountErased.Apple.known.map(\.rawValue)),
      ("PartErasure", AccountErased.Part.known.map(\.rawValue)),
      ("MailLinkPurpose", MailLinkPurpose.allCases.map(\.rawValue)),
      ("ServiceAccountAct", SetServiceAccount.Act.allCases.map(\.rawValue)),
      ("WebhookState", WebhookView.State.known.map(\.rawValue)),
      ("AdministratorRole", AdministratorRole.known.map(\.rawValue)),
      ("ErrorCode", APIErrorCode.known.map(\.rawValue)),
    ])
  func `The words are the same`(schema: String, words: [String]) {
    #expect(checker.schemas[schema]?["enum"]?.strings == words)
  }

  @Test func `The headers are the same`() {
    let headers = Set((checker.schemas["Headers"]?["properties"]?.object ?? [:]).keys)
    #expect(
      headers == [
        MessageHeader.attempt, MessageHeader.firstAttemptAt, MessageHeader.nextAttemptAt, MessageHeader.lastError,
        MessageHeader.traceparent, MessageHeader.causationID, MessageHeader.sender,
      ])
    let dead = Set((checker.schemas["DeadLetterHeaders"]?["properties"]?.object ?? [:]).keys)
    #expect(
      dead == [
        MessageHeader.deadReason, MessageHeader.deadQueue, MessageHeader.deadAt, MessageHeader.lastError,
        MessageHeader.sender,
      ])
  }

  @Test func `Every reference leads somewhere`() {
    func references(_ value: JSONValue) -> [String] {
      (value["$ref"]?.text.map { [$0] } ?? []) + value.object.values.flatMap(references)
        + value.array.flatMap(references)
    }
    for reference in references(document) {
      let target = reference.dropFirst(2).split(separator: "/").reduce(JSONValue?.some(document)) { $0?[String($1)] }
      #expect(target != nil, "\(reference)")
    }
  }

  @Test func `The checker finds what is wrong`() throws {
    let schema = try #require(messages["SMSDispatchJob"]?["payload"])
    let wrong = #"{"to":5,"text":"a","template":"b","deadline":"2026-07-01T12:00:00+01:00","onUnknown":"x","zebra":1}"#
    #expect(
      Set(checker.problems(try JSONValue(parsing: wrong), schema)) == [
        "$.to: wrong type", "$: fits 2 of oneOf", "$.deadline: not a time in UTC", "$.onUnknown: not in enum",
        "$.zebra: not described",
      ])
    #expect(checker.problems(try JSONValue(parsing: "{}"), schema).contains("$.to: missing"))
  }
}
