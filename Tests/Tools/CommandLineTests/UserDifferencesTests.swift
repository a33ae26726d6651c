import CountersignEncoding
import Testing

@testable import CommandLine

@Suite struct UserDifferencesTests {
  let declared = UserDeclaration.countersign

  func found(_ state: UserDifferences) -> [TopologyDifference] { state.differences() }

  func texts(_ state: UserDifferences) -> [String] { state.differences().map(\.description) }

  @Test func `Users as declared have no differences`() {
    #expect(found(declared.asState) == [])
  }

  @Test func `A missing user can be added`() {
    var state = declared.asState
    state.users.removeAll { $0.name == "gateway" }
    let differences = found(state)
    #expect(differences.map(\.description) == ["user gateway is missing"])
    #expect(differences.allSatisfy { $0.isFixable })
  }

  @Test func `Rights that differ are named and can be set`() throws {
    var state = declared.asState
    let index = try #require(state.rights.firstIndex { $0.kind == .permissions && $0["user"] == "service" })
    let changed = state.rights[index].members.merging(["configure": ".*"]) { $1 }
    state.rights[index] = BrokerObject(kind: .permissions, members: changed)
    let differences = found(state)
    #expect(differences.count == 1 && differences[0].isFixable)
    #expect(differences[0].description.hasPrefix("rights of user service: configure is .* instead of ^("))
  }

  @Test func `Missing and foreign routing keys are told`() {
    var state = declared.asState
    state.rights.removeAll { $0.kind == .topicPermissions && $0["user"] == "gateway" }
    state.rights.append(
      .init(
        kind: .topicPermissions,
        members: ["user": "operator", "exchange": "countersign.jobs", "write": "x", "read": "y"]))
    #expect(
      texts(state) == [
        "rights of user gateway to routing keys of countersign.events are missing",
        "user operator has undeclared rights to routing keys of countersign.jobs",
      ])
  }

  @Test func `Tags that nobody declared are for a person`() throws {
    var state = declared.asState
    let index = try #require(state.users.firstIndex { $0.name == "service" })
    state.users[index] = .init(name: "service", tags: ["management"], limits: state.users[index].limits)
    let differences = found(state)
    #expect(differences.map(\.description) == ["user service: tags are management instead of none"])
    #expect(differences.map(\.remedy) == [.byHand("rabbitmqctl set_user_tags service")])
  }

  @Test(arguments: ["service", "operator", "stranger"])
  func `Nobody may speak for another`(user: String) throws {
    var state = declared.asState
    let old = state.users.first { $0.name == user }
    state.users.removeAll { $0.name == user }
    state.users.append(.init(name: user, tags: (old?.tags ?? []) + ["impersonator"], limits: old?.limits ?? [:]))
    let differences = found(state)
    #expect(
      differences.map(\.description) == [
        "user \(user) has the tag impersonator, which lets it publish as any other user"
      ])
    #expect(!differences.contains { $0.isFixable })
  }

  @Test func `Limits that are missing can be set and others are the sites choice`() throws {
    var state = declared.asState
    let service = try #require(state.users.firstIndex { $0.name == "service" })
    let sender = try #require(state.users.firstIndex { $0.name == "sender" })
    state.users[service] = .init(name: "service", limits: ["max-channels": 9])
    state.users[sender] = .init(name: "sender", limits: ["max-channels": 9, "max-connections": 9])
    state.hostLimits = []
    #expect(
      texts(state) == ["user service has no limit max-connections", "the virtual host / has no limit max-queues"])
  }

  @Test func `A stranger with rights is told`() {
    var state = declared.asState
    state.users.append(.init(name: "old"))
    state.users.append(.init(name: "idle"))
    state.rights.append(BrokerObject(.permissions, told: ["user": "old", "configure": "", "write": "", "read": ".*"]))
    state.rights.append(BrokerObject(.permissions, told: ["user": "idle", "configure": "", "write": "^$", "read": ""]))
    #expect(texts(state) == ["user old has undeclared rights: configure ^$, write ^$, read .*"])
  }

  @Test func `A service with a user of its own is as it should be`() {
    let state = (declared + [.service("billing"), .sender("crm")]).asState
    #expect(found(state) == [])
    #expect(
      state.notes() == [
        "user billing has the rights of service", "user crm has the rights of sender",
      ])
  }

  @Test func `An administrator is noted and guest is not`() {
    var state = declared.asState
    for name in ["admin", "guest"] {
      state.users.append(.init(name: name, tags: ["administrator"]))
      state.rights.append(UserDeclaration(name: name, configure: ".*", write: ".*", read: ".*").permissions)
    }
    #expect(found(state).map(\.remedy) == [.byHand("rabbitmqctl delete_user guest")])
  }
}

extension [UserDeclaration] {
  var asState: UserDifferences {
    UserDifferences(
      users: map { .init(name: $0.name, tags: $0.tags, limits: $0.limits.mapValues { Int($0) }) },
      rights: flatMap(\.rights), hostLimits: [["value": ["max-queues": 5]]], virtualHost: "/")
  }
}
