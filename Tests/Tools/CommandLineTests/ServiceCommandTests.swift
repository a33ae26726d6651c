import CountersignEncoding
import CountersignMessages
import FoundationEssentials
import Glibc
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import CommandLine

@Suite struct ServiceCommandTests {
  /// A broker with the topology, and with users of services beside those of the topology.
  static func broker(
    _ users: [UserDeclaration] = [], withoutPassword: Set<String> = [], tags: String = "", queues: [String: Int] = [:],
    policies: [BrokerObject] = PolicyDeclaration.countersign
  ) -> FakeManagement {
    func rows(_ objects: [BrokerObject]) -> String { JSONValue.array(objects.map { .object($0.members) }).json() }
    let told = users.map { user in
      JSONValue.object([
        "name": .text(user.name), "tags": .text(tags), "limits": .object(user.limits.mapValues(JSONValue.integer)),
        "password_hash": withoutPassword.contains(user.name) ? "" : "x",
      ])
    }
    let found = queues.map { name, count in
      JSONValue.object([
        "name": .text(name), "durable": true, "auto_delete": false, "type": "quorum", "arguments": [:],
        "messages": .integer(Int64(count)),
      ])
    }
    return FakeManagement([
      "/api/users": JSONValue.array(told).json(), "/api/policies/%2F": rows(policies),
      "/api/queues/%2F": JSONValue.array(found).json(),
      "/api/vhosts/%2F/permissions": rows(users.map(\.permissions)),
      "/api/vhosts/%2F/topic-permissions": rows(users.flatMap(\.topicPermissions)),
    ])
  }

  func lines(_ backend: FakeBackend) -> [String] { backend.management.writes.map(\.line) }

  @Test func `A new service gets a user with its rights and limits, its queue, and last its password`() async throws {
    let backend = FakeBackend(management: Self.broker())
    let run = await Run(backend, "service", "add", "billing", "--events", "--json")
    #expect(run.code == .success, "\(run.error)")
    #expect(
      lines(backend) == [
        "PUT /api/users/billing", "PUT /api/permissions/%2F/billing", "PUT /api/user-limits/billing/max-channels",
        "PUT /api/user-limits/billing/max-connections", "PUT /api/queues/%2F/countersign.events.billing",
        "PUT /api/users/billing",
      ])
    let output = try JSONValue(parsing: run.output)
    let password = try #require(output["password"]?.text)
    #expect(password.utf8.count == 43)
    let writes = backend.management.writes
    #expect(writes.first?.body.contains(#""password_hash":"""#) == true)
    #expect(
      try JSONValue(parsing: try #require(writes.last).body)
        == ["password": .text(password), "tags": ""])
    #expect(
      try JSONValue(parsing: writes[1].body)["read"]?.text == UserDeclaration.service("billing").read
    )
    #expect(output["url"]?.text == "amqp://billing@localhost:5672/%2F")
    #expect(output["eventQueue"]?.text == "countersign.events.billing")
    #expect(output["replyPrefix"]?.text == "countersign.reply.billing.")
    #expect(backend.noted.withLock { $0 } == [NoteAct(act: "service.add", subject: "billing --events")])
    let other = await Run(FakeBackend(management: Self.broker()), "service", "add", "billing", "--json")
    #expect(try JSONValue(parsing: other.output)["password"]?.text != password)
  }

  @Test func `A sender may send jobs and hear of deliveries`() async {
    let backend = FakeBackend(management: Self.broker())
    let run = await Run(backend, "service", "add", "crm", "--sender")
    #expect(run.code == .success)
    #expect(run.output.contains("added user crm with the rights of sender\n"))
    #expect(run.output.contains("(shown this once)"))
    #expect(!run.output.contains("countersign.events"))
    #expect(lines(backend).contains("PUT /api/topic-permissions/%2F/crm"))
  }

  @Test func `A repetition changes nothing and shows no password`() async {
    let user = UserDeclaration.service("billing")
    let queue = ["countersign.events.billing": 3]
    let backend = FakeBackend(management: Self.broker([user], queues: queue))
    let run = await Run(backend, "service", "add", "billing", "--events")
    #expect(run.code == .success, "\(run.error)")
    #expect(run.output.hasPrefix("user billing is complete\n"))
    #expect(run.output.contains("unchanged; --new-password"))
    #expect(lines(backend) == [])
    #expect(backend.noted.withLock { $0.isEmpty })
    let later = FakeBackend(management: Self.broker([user]))
    #expect(await Run(later, "service", "add", "billing", "--events").code == .success)
    #expect(lines(later) == ["PUT /api/queues/%2F/countersign.events.billing"])
  }

  @Test func `A user without a password gets one, and another one on request`() async {
    let user = UserDeclaration.service("billing")
    let without = FakeBackend(management: Self.broker([user], withoutPassword: ["billing"]))
    #expect(await Run(without, "service", "add", "billing").output.contains("(shown this once)"))
    #expect(lines(without) == ["PUT /api/users/billing"])
    let renewed = FakeBackend(management: Self.broker([user]))
    #expect(await Run(renewed, "service", "add", "billing", "--new-password").output.contains("(shown this once)"))
    #expect(lines(renewed) == ["PUT /api/users/billing"])
    #expect(renewed.noted.withLock { $0.map(\.subject) } == ["billing --new-password"])
  }

  @Test func `The password goes to a new file for its owner alone`() async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "countersign-\(MessageID.make())").path
    // It may not have been made.
    defer { try? FileManager.default.removeItem(atPath: path) }
    let backend = FakeBackend(management: Self.broker())
    let run = await Run(backend, "service", "add", "billing", "--password-file", path, "--json")
    #expect(run.code == .success, "\(run.error)")
    let password = String(decoding: try InputFile.read(path).dropLast(), as: UTF8.self)
    #expect(backend.management.writes.last?.body.contains(#""password":"\#(password)""#) == true)
    #expect(!run.output.contains(password))
    var status = stat()
    #expect(stat(path, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
    let again = FakeBackend(management: Self.broker())
    let refused = await Run(again, "service", "add", "crm", "--password-file", path)
    #expect(refused.code == .badInput)
    #expect(lines(again) == [])
  }

  @Test(arguments: [false, true])
  func `A password whose answer was lost is replaced by a repetition with its option`(intoFile: Bool) async {
    let path = FileManager.default.temporaryDirectory.appending(path: "countersign-\(MessageID.make())").path
    // It may not have been made.
    defer { try? FileManager.default.removeItem(atPath: path) }
    let backend = FakeBackend(management: Self.broker([.service("billing")], withoutPassword: ["billing"]))
    backend.management.contents.withLock { $0.forbidden = ["/api/users/billing"] }
    let file = intoFile ? ["--password-file", path] : []
    let run = await Run(backend, arguments: ["service", "add", "billing"] + file)
    #expect(run.code == .noPermission)
    #expect(run.error.contains("repeat with --new-password"), "\(run.error)")
    #expect(run.error.contains("remove the file") == intoFile)
    #expect(run.output == "")
  }

  /// A broker on which users have rights in another virtual host too, or in that one alone.
  static func sharedBroker(_ users: [UserDeclaration], alsoIn others: [String], name: String) -> FakeManagement {
    let broker = Self.broker(users)
    let rows = (others + (users.isEmpty ? [] : ["/"])).map { host in
      JSONValue.object([
        "user": .text(name), "vhost": .text(host), "configure": "", "write": "", "read": ".*",
      ])
    }
    let told: JSONValue = .array([.object(["name": .text(name), "tags": "", "password_hash": "x", "limits": [:]])])
    broker.contents.withLock {
      $0.answers["/api/users/\(name)/permissions"] = ManagementResponse(
        status: 200, body: Array(JSONValue.array(rows).json().utf8))
      if users.isEmpty {
        $0.answers["/api/users"] = ManagementResponse(status: 200, body: Array(told.json().utf8))
      }
    }
    return broker
  }

  @Test func `A user with rights in other virtual hosts alone stays as it is`() async {
    for options: [String] in [[], ["--new-password"], ["--events"]] {
      let backend = FakeBackend(management: Self.sharedBroker([], alsoIn: ["shop", "crm"], name: "billing"))
      let run = await Run(backend, arguments: ["service", "add", "billing"] + options)
      #expect(run.code == .failure)
      #expect(run.error.contains("has rights in crm, shop and none in /"), "\(run.error)")
      #expect(run.error.contains("countersign topology user billing --like service"))
      #expect(lines(backend) == [])
      #expect(backend.noted.withLock { $0.isEmpty })
    }
    let backend = FakeBackend(management: Self.sharedBroker([], alsoIn: ["shop"], name: "billing"))
    let removal = await Run(backend, "service", "remove", "billing", "--yes")
    #expect(removal.code == .failure)
    #expect(removal.error.contains("there is no service billing"))
    #expect(lines(backend) == [])
  }

  @Test func `A removal leaves a user to other virtual hosts`() async throws {
    for (user, writes) in [
      (UserDeclaration.service("billing"), ["DELETE /api/permissions/%2F/billing"]),
      (
        UserDeclaration.sender("billing"),
        ["DELETE /api/permissions/%2F/billing", "DELETE /api/topic-permissions/%2F/billing"]
      ),
    ] {
      let backend = FakeBackend(management: Self.sharedBroker([user], alsoIn: ["shop"], name: "billing"))
      let asked = await Run(backend, "service", "remove", "billing")
      #expect(asked.code == .failure)
      #expect(asked.output.contains("the user stays for shop"))
      #expect(lines(backend) == [])
      let done = await Run(backend, "service", "remove", "billing", "--yes", "--json")
      #expect(done.code == .success, "\(done.error)")
      #expect(lines(backend) == writes)
      #expect(try JSONValue(parsing: done.output)["userStaysFor"] == .array(["shop"]))
    }
  }

  @Test func `A new password is told to hold in other virtual hosts`() async {
    let broker = Self.sharedBroker([.service("billing")], alsoIn: ["shop"], name: "billing")
    let run = await Run(FakeBackend(management: broker), "service", "add", "billing", "--new-password")
    #expect(run.code == .success, "\(run.error)")
    #expect(run.output.contains("shop, with the same password"))
  }

  @Test(arguments: ["service", "sender", "operator", "gateway", "sms-worker"])
  func `A name of the topology is refused`(name: String) async {
    for command in ["add", "remove"] {
      let backend = FakeBackend(management: Self.broker())
      let run = await Run(backend, "service", command, name)
      #expect(run.code == .usage)
      #expect(run.error.contains("is a user of the topology itself"))
      #expect(lines(backend) == [])
    }
    #expect(await Run(FakeBackend(), "service", "add", "bil.ling").code == .usage)
  }

  @Test func `A user that is something else stays as it is`() async {
    let stranger = UserDeclaration(name: "billing", configure: "^$", write: "^$", read: ".*")
    for (broker, reason) in [
      (Self.broker([stranger]), "rights that are not a service's"),
      (Self.broker([.sender("billing")]), "give --sender"),
      (Self.broker([.service("billing")], tags: "administrator"), "tags are administrator"),
    ] {
      let backend = FakeBackend(management: broker)
      let run = await Run(backend, "service", "add", "billing")
      #expect(run.code == .failure)
      #expect(run.error.contains(reason), "\(run.error)")
      #expect(lines(backend) == [])
    }
  }

  @Test func `A queue without its bounds is not declared`() async {
    let backend = FakeBackend(management: Self.broker(policies: []))
    let run = await Run(backend, "service", "add", "billing", "--events")
    #expect(run.code == .failure)
    #expect(run.error.contains("topology apply"))
    #expect(lines(backend) == [])
  }

  @Test func `Without an administrator the commands are printed and the queue is declared`() async {
    let backend = FakeBackend(management: Self.broker())
    backend.management.contents.withLock { $0.forbidden = ["/api/users"] }
    let run = await Run(backend, "service", "add", "billing", "--events")
    #expect(run.code == .noPermission)
    #expect(run.output.contains("administrators alone make users"))
    for line in RabbitMQCtl.lines(for: .service("billing"), in: "/") { #expect(run.output.contains(line)) }
    #expect(lines(backend) == ["PUT /api/queues/%2F/countersign.events.billing"])
    #expect(backend.noted.withLock { $0.map(\.act) } == ["service.add"])
  }

  @Test func `An act that cannot be noted is not done`() async {
    let backend = FakeBackend(
      management: Self.broker([.service("billing")]), noteFailure: CommandLineError(.notPermitted, "not you"))
    for arguments in [["add", "crm"], ["add", "billing", "--events"], ["remove", "billing", "--yes"]] {
      #expect(await Run(backend, arguments: ["service"] + arguments).code == .noPermission)
    }
    #expect(lines(backend) == [])
  }

  @Test func `Services are listed with what waits for them`() async {
    let broker = Self.broker(
      [.service("billing"), .sender("crm"), UserDeclaration(name: "other", configure: "", write: "", read: ".*")],
      withoutPassword: ["crm"], queues: ["countersign.events.billing": 7])
    let run = await Run(FakeBackend(management: broker), "service", "list")
    #expect(
      run.output.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") } == [
        "NAME RIGHTS OF EVENTS KEPT PASSWORD", "billing service 7 set", "crm sender no queue none",
      ])
  }

  @Test func `A removal tells what is lost and is done with yes only`() async {
    let queue = ["countersign.events.billing": 7]
    let backend = FakeBackend(management: Self.broker([.service("billing")], queues: queue))
    let asked = await Run(backend, "service", "remove", "billing")
    #expect(asked.code == .failure)
    #expect(asked.output.contains("about 7 events that wait"))
    #expect(lines(backend) == [])
    let done = await Run(backend, "service", "remove", "billing", "--yes")
    #expect(done.code == .success)
    #expect(lines(backend) == ["DELETE /api/users/billing", "DELETE /api/queues/%2F/countersign.events.billing"])
    #expect(backend.noted.withLock { $0 } == [NoteAct(act: "service.remove", subject: "billing")])
    let unknown = await Run(FakeBackend(management: Self.broker()), "service", "remove", "billing", "--yes")
    #expect(unknown.code == .failure)
    let stranger = UserDeclaration(name: "ada", tags: [], configure: ".*", write: ".*", read: ".*")
    let other = FakeBackend(management: Self.broker([stranger]))
    #expect(await Run(other, "service", "remove", "ada", "--yes").code == .failure)
    #expect(lines(other) == [])
  }
}

@Suite struct TopologyRecordTests {
  @Test func `What is applied is noted before`() async throws {
    // Of the topology, only the policies differ.
    let rows = { (kind: BrokerObject.Kind) in
      JSONValue.array(TopologyDeclaration.countersign.all(kind).map { .object($0.members) }).json()
    }
    func broker() -> FakeManagement {
      FakeManagement([
        "/api/exchanges/%2F": rows(.exchanges), "/api/bindings/%2F": rows(.bindings),
        "/api/queues/%2F": rows(.queues).replacing(#""name""#, with: #""type":"quorum","name""#),
      ])
    }
    let backend = FakeBackend(management: broker())
    _ = await Run(backend, "topology", "apply", "--without-users")
    let act = try #require(backend.noted.withLock { $0.first })
    #expect(act.act == "topology.apply")
    #expect(act.subject?.hasPrefix("declared policy countersign.work.coordinator.commands; ") == true)
    #expect(act.subject?.utf8.count == 256)
    // A repair goes on without its note.
    let unheard = FakeBackend(management: broker(), noteFailure: CommandLineError(.unavailable, "no broker"))
    let run = await Run(unheard, "topology", "apply", "--without-users")
    #expect(run.error.contains("not noted for countersign audit: no broker"))
    #expect(!unheard.management.writes.isEmpty)
  }

  @Test func `The first apply of a broker has nobody to note it`() async {
    let backend = FakeBackend()
    let run = await Run(backend, "topology", "apply", "--without-users")
    #expect(backend.noted.withLock { $0.isEmpty })
    #expect(run.error.contains("not noted"))
    #expect(!backend.management.writes.isEmpty)
  }
}
